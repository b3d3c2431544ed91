// Text embeddings: uses any encoder to map texts to vectors.
//
//     const auto [task, model] = load_any_model("all-MiniLM-L6-v2");
//     const auto encoder = task.text_encoder(*model);
//     Session session(*encoder->graph, encoder->store);
//     Tensor vectors = embed(session, *encoder, {"one text", "another one"});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder_config.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// How token vectors are pooled into one vector per text.
enum class TextPooling : std::uint8_t {
  mean,  // the mean over all tokens, including special tokens
  cls,   // the first token
};
/// "mean", "cls".
ChoiceNames choice_names(TextPooling);

/// The default pooling of an encoder, stored in its file.
struct TextVectors {
  TextPooling pooling = TextPooling::mean;

  /// Returns all fields with their help texts.
  static const FieldList<TextVectors>& fields();
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or of the wrong type.
  static TextVectors from_json(std::string_view json);
};

/// An encoder without a head. Its programs have the inputs "tokens" i32 [batch, seq] and "mask" i32
/// [batch, seq] (1 = token), and the output "vectors" f32 [batch, width]:
///   mean  mean of the last layer's outputs over all tokens in a text
///   cls   output of the last layer for the first token
/// If a folder's model class has a pooler over the first token, the program "pooler" computes its
/// output.
struct TextEncoder : ModelKind<TextEncoder> {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;  // for encoders from folders
  TextVectors vectors;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// Adds the programs "mean" and "cls" for `h` [batch, seq, width], the output of the last layer.
void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask);

/// Returns the encoder in Hugging Face layout.
FolderModel folder_model_of(const TextEncoder& encoder);

/// Returns the encoder of a trained model, without its head. The encoder shares the weights with
/// the model; quantised weights remain quantised. `config`, `tokenizer` and `reading` must be the
/// members of the model. Throws ArgumentError if the model has adapters, which must be merged
/// first.
std::unique_ptr<TextEncoder> text_encoder_in(const TrainedModel& model, const EncoderConfig& config,
                                             const Tokenizer& tokenizer,
                                             const std::optional<TextReading>& reading);
/// As above, for any model type that has these members.
template <class Model>
std::unique_ptr<TextEncoder> text_encoder_in(const Model& model) {
  return text_encoder_in(model, model.config, model.tokenizer, model.reading);
}

struct EmbedOptions {
  /// If empty, the pooling that the encoder's file or folder specifies, or else the mean.
  std::optional<TextPooling> pooling = {};
  bool normalise = true;  // scale vectors to length 1, so that dot products are cosines
  /// Maximum number of tokens per batch.
  std::int64_t batch_tokens = 4096;
  OnCut on_cut = {};
};

/// Returns the text vectors, f32 [texts, width], in text order. Texts of similar length are batched
/// together to reduce padding. `session` must run the encoder's graph with its store. Throws the
/// same exceptions as TextReader::rows.
Tensor embed(Session& session, const TextEncoder& encoder, std::span<const std::string> texts,
             const EmbedOptions& options = {});
/// The text vectors, as returned by embed(), and the total number of tokens in all texts.
struct Embedded {
  Tensor vectors;
  std::int64_t tokens = 0;
};
Embedded embed_counted(Session& session, const TextEncoder& encoder,
                       std::span<const std::string> texts, const EmbedOptions& options = {});

/// The index of a matrix row, and the cosine similarity of the row to another vector.
struct Similar {
  std::int64_t row = 0;
  double cosine = 0;
};
/// For every row of `vectors`, returns the `most` most similar rows of `others` (both f32 [rows,
/// width]) sorted by cosine in descending order; ties are sorted by row. The cosine with a zero
/// vector is 0.
std::vector<std::vector<Similar>> most_similar(const Tensor& vectors, const Tensor& others,
                                               std::int64_t most);

}  // namespace weft
