// An encoder that scores text pairs, for example by similarity, or single texts.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/models/data/formats/scored_pairs.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/text_ranking/rerank.h"
#include "weft/models/tasks/text_similarity/similarity_head.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/trainable.h"

namespace WEFT_API weft {

/// A model that compares two texts in one of two ways.
///
/// Comparison::joint encodes "[CLS] first [SEP] second [SEP]" in one row (BERT, Devlin et al. 2019,
/// section 4.1), so that the tokens of each text attend to the tokens of the other. This is
/// followed by pooling, dropout and a linear layer with a single output. Encoder parameters are
/// named as in encoder.h; those of the head are "pooler" (if the first token is pooled) and
/// "score". Programs have the inputs "tokens" i32 [batch, seq] and "mask" i32 [batch, seq] (1 =
/// token). For pairs, if the encoder has at least two token types, they also have the input
/// "token_types" i32 [batch, seq].
///
/// Comparison::cosine encodes each text separately as "[CLS] text [SEP]" and computes the cosine of
/// the pooled vectors (Sentence-BERT, Reimers and Gurevych 2019, section 3). The head has no
/// parameters; "tokens" and "mask" are i32 [batch, 2, seq]. The encoder from text_encoder()
/// computes the same vectors.
///
/// Programs:
///   train     one complete training step; also has the input "targets" f32 [batch], in the scale
///             of the data
///   evaluate  outputs "loss", the mean squared error of scores scaled so that the training scores
///             range from 0 to 1, and "scores", without dropout; also has the input "targets"
///   score     output "scores" f32 [batch], in the scale of the data
struct SimilarityModel : ModelKind<SimilarityModel, EncoderModel>, PairScorer {
  SimilarityHead head;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout: for Comparison::joint, a regression model with
  /// scores on the scale of the data; for Comparison::cosine, the encoder with the pooling files of
  /// Sentence Transformers. Throws ArgumentError if no transformers class supports the model's
  /// head.
  FolderModel to_folder() const;
  /// Returns the encoder without its head. For Comparison::cosine, its default pooling produces the
  /// vectors that the model compares.
  std::unique_ptr<TextEncoder> text_encoder() const override;
  std::vector<std::string> score_names() const override { return {"score"}; }
  /// Throws ArgumentError if the model scores single texts.
  std::vector<PairRows> read_pairs(std::span<const PairTexts> pairs,
                                   const OnCut& on_cut) const override;
  std::vector<std::vector<double>> pair_outputs(
      Session& session, std::span<const PairRows* const> pairs) const override;
};

/// Builds a new model. It has no variables yet and is not trainable. Throws ArgumentError if
/// `config` does not match `tokenizer`. Also throws the same exceptions as head.check().
SimilarityModel build_similarity_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const SimilarityHead& head, const TrainSettings& settings);

/// Returns the model in a Hugging Face folder if it predicts a score for text pairs: its class must
/// be an encoder ...ForSequenceClassification with one label and the problem type "regression".
/// Returns null if the folder contains another model. The result has only the programs "evaluate"
/// and "score"; scores are the unscaled head outputs. Throws the same exceptions as
/// read_folder_encoder.
std::unique_ptr<SimilarityModel> similarity_model_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text);

/// The input rows for a data line: one row, or two for Comparison::cosine with pairs.
using SimilarityRows = PairRows;
/// Returns the input rows for `line`. Texts that exceed the model's context are truncated. Throws
/// FormatError if a text is not valid UTF-8.
SimilarityRows similarity_rows(const SimilarityModel& model, const ScoredPair& line);
/// Returns the program inputs for several lines, without the targets.
NamedTensors similarity_inputs(const SimilarityModel& model, std::span<const SimilarityRows> lines);

}  // namespace weft
