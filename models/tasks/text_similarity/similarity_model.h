// An encoder that scores pairs of texts, by how much alike they are say, or single texts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/models/data/scored_pairs.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/text_similarity/similarity_head.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/text_reader.h"
#include "weft/models/trained/trainable.h"

namespace WEFT_API weft {

/// Joint: one encoder over "[CLS] first [SEP] second [SEP]" (BERT, Devlin et al. 2019, section
/// 4.1), so that every token of one text sees those of the other; pooling, dropout, a linear layer
/// to one number. Parameters are named as in encoder.h; the new ones are "pooler" (where the first
/// token is pooled) and "score". Programs over inputs "tokens" i32 [batch, seq], "mask" i32 [batch,
/// seq] (1 = token) and, of pairs where the encoder has two token types or more, "token_types" i32
/// [batch, seq].
/// Cosine: one encoder over "[CLS] text [SEP]" of each text, pooling, the cosine of both vectors
/// (Sentence-BERT, Reimers and Gurevych 2019, section 3). There are no new parameters; "tokens" and
/// "mask" are i32 [batch, 2, seq]. text_encoder_in() a model gives the same vectors.
/// Programs:
///   train     one whole training step; also needs "targets" f32 [batch], in the data's scale
///   evaluate  "loss", the mean squared error in the scale where training's scores are 0 to 1, and
///             "scores", without dropout; also needs "targets"
///   score     "scores" f32 [batch], in the data's scale
struct SimilarityModel : ModelKind<SimilarityModel> {
  EncoderConfig config;
  Tokenizer tokenizer;
  SimilarityHead head;
  std::optional<TextReading> reading;  // of a folder's encoder

  static const ModelLayout& file_layout();
  void check() const override;
};

/// A new model that cannot be trained yet, its variables not made. Throws ArgumentError where
/// config and tokenizer do not fit, and as head.check().
SimilarityModel build_similarity_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                       const SimilarityHead& head, const TrainSettings& settings);

/// The model in a folder of the library that gives pairs of texts a number: an encoder's class
/// ...ForSequenceClassification with one label, whose config says "regression". "evaluate" and
/// "score" only; scores are the number as it is. Null where it holds another class. Throws as
/// read_folder_encoder.
std::unique_ptr<SimilarityModel> similarity_model_of(const hf::Folder& folder,
                                                     const FolderTokenizer& text);

/// The model as a folder of the library has it: a regression whose scores are those of the data, or
/// of a cosine the encoder, with what Sentence Transformers reads of its pooling. Throws
/// ArgumentError for a head that no class has.
FolderModel folder_model_of(const SimilarityModel& model);

/// A line as the model reads it: one row, or for a cosine two. What is too long for the model is
/// cut. Throws FormatError for invalid UTF-8.
using SimilarityRows = std::vector<TextRow>;
SimilarityRows similarity_rows(const SimilarityModel& model, const ScoredPair& line);
/// The inputs of all programs for some lines, without the targets.
NamedTensors similarity_inputs(const SimilarityModel& model, std::span<const SimilarityRows> lines);

/// The encoder without its head: of a model that compares by cosine the vectors are, unless they
/// are asked for otherwise, those whose cosine is its score.
std::unique_ptr<TextEncoder> similarity_text_encoder(const SimilarityModel& model);

}  // namespace weft
