// Training of word embeddings on a text with any of the supported models.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/core/parallel.h"
#include "weft/models/fields/choice.h"
#include "weft/models/vectors/co_occurrence.h"
#include "weft/models/vectors/glove.h"
#include "weft/models/vectors/lsa.h"
#include "weft/models/vectors/negative_sampling.h"
#include "weft/models/vectors/word_text.h"
#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

/// Word embedding models.
enum class VectorModel : std::uint8_t { skip_gram, cbow, fasttext, glove, lsa };
/// The names are "skip-gram", "cbow", "fasttext", "glove" and "lsa".
ChoiceNames choice_names(VectorModel);

/// The matrix that LSA factorises.
enum class LsaMatrix : std::uint8_t {
  ppmi,    // positive_pmi() of co-occurrences
  tf_idf,  // tf_idf_matrix()
};
/// The names are "ppmi" and "tf-idf".
ChoiceNames choice_names(LsaMatrix);

/// A model with its options; the options of other models are ignored.
struct VectorRecipe {
  VectorModel model = VectorModel::skip_gram;
  NegativeSamplingOptions sampling = {};
  CoOccurrenceOptions counts = {};
  GloveOptions glove = {};
  LsaOptions lsa = {};
  LsaMatrix matrix = LsaMatrix::ppmi;
};
/// Default minimum count for texts of a few million words: less frequent words are dropped.
inline constexpr std::int64_t kDefaultMinCount = 2;
/// Returns the default options of a model for texts of a few million words.
VectorRecipe default_recipe(VectorModel model);

/// Progress of a training run.
struct VectorProgress {
  int epoch = 0, epochs = 0;  // completed epochs, and their total
  /// Number of words of the text, or of co-occurrence counts, processed so far.
  std::int64_t items = 0;
  double cost = 0;  // GloVe: mean loss of the epoch
};
/// Trains embeddings of all words of the text. `report` (may be empty) is called after every epoch
/// of iterative models. The result is bit-identical for any number of threads.
WordVectors train_word_vectors(const WordText& text, const VectorRecipe& recipe, Workers& workers,
                               const std::function<void(const VectorProgress&)>& report = {});

}  // namespace weft
