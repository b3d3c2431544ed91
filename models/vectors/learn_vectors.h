// Any of the models that give words vectors, from a text.
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

/// The models that learn vectors of words.
enum class VectorModel : std::uint8_t { skip_gram, cbow, fasttext, glove, lsa };
/// "skip-gram", "cbow", "fasttext", "glove", "lsa".
ChoiceNames choice_names(VectorModel);

/// What LSA decomposes.
enum class LsaMatrix : std::uint8_t {
  ppmi,    // positive_information() of co-occurrences
  tf_idf,  // words_by_sentences()
};
/// "ppmi", "tf-idf".
ChoiceNames choice_names(LsaMatrix);

/// A model with its options; those of other models mean nothing.
struct VectorRecipe {
  VectorModel model = VectorModel::skip_gram;
  NegativeSamplingOptions sampling = {};
  CoOccurrenceOptions counts = {};
  GloveOptions glove = {};
  LsaOptions lsa = {};
  LsaMatrix matrix = LsaMatrix::ppmi;
};
/// Words that occur less often are left out of texts of some million words.
inline constexpr std::int64_t kUsualMinCount = 2;
/// What is usual for a model, for texts of some million words.
VectorRecipe usual_recipe(VectorModel model);

/// How far a training is.
struct VectorProgress {
  int epoch = 0, epochs = 0;  // that are done
  std::int64_t items = 0;     // words of the text, or counts, that were taken in so far
  double cost = 0;            // GloVe: the mean of the epoch
};
/// Learns vectors of all words of the text; `report` (may be empty) is called behind every epoch of
/// models that have some. The same bits for any number of threads.
WordVectors learn_vectors(const WordText& text, const VectorRecipe& recipe, Workers& workers,
                          const std::function<void(const VectorProgress&)>& report = {});

}  // namespace weft
