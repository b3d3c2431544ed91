// Any encoder as what gives a vector for each text, and the vectors of many texts.
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
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// What stands for a text.
enum class TextPooling : std::uint8_t {
  mean,  // the mean over all its tokens, those around it included
  cls,   // the first token
};
/// "mean", "cls".
ChoiceNames choice_names(TextPooling);

/// What files say of how an encoder's vectors are usually made.
struct TextVectors {
  TextPooling pooling = TextPooling::mean;

  /// Every field, with its help.
  static const FieldList<TextVectors>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field.
  static TextVectors from_json(std::string_view json);
};

/// An encoder without a head. Programs over inputs "tokens" i32 [batch, seq] and "mask" i32 [batch,
/// seq] (1 = token), each with the output "vectors" f32 [batch, width]:
///   mean  the mean of what the last layer gives for a text's tokens
///   cls   what it gives for the first token
/// Of a folder whose class has a pooler over the first token there is one more, "pooler": what that
/// gives.
struct TextEncoder : ModelKind<TextEncoder> {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;  // of a folder's encoder
  TextVectors vectors;

  /// The parts of its file.
  static const ModelLayout& file_layout();
  void check() const override;
};

/// The programs of an encoder whose last layer gives `h` [batch, seq, width].
void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask);

/// The encoder as a folder of the library has it.
FolderModel folder_model_of(const TextEncoder& encoder);

/// The encoder of a trained model, without its head: over weights in as few bits as there, which
/// both share. `config`, `tokenizer` and `reading` are the model's. Throws ArgumentError where it
/// has adapters, which must be merged first.
std::unique_ptr<TextEncoder> text_encoder_in(const TrainedModel& model, const EncoderConfig& config,
                                             const Tokenizer& tokenizer,
                                             const std::optional<TextReading>& reading);
/// The same of any kind of model that has these members.
template <class Model>
std::unique_ptr<TextEncoder> text_encoder_in(const Model& model) {
  return text_encoder_in(model, model.config, model.tokenizer, model.reading);
}

struct EmbedOptions {
  /// None: as the encoder's file or folder says, else the mean.
  std::optional<TextPooling> pooling = {};
  bool normalise = true;  // to length 1, so that products are cosines
  /// Most tokens that are computed together.
  std::int64_t batch_tokens = 4096;
  OnCut on_cut = {};
};

/// Vectors of texts, f32 [texts, width], in their order. Texts of like length are computed
/// together, so that next to nothing is spent on padding. `session` runs the encoder's graph over
/// its store. Throws as TextReader::rows.
Tensor embed(Session& session, const TextEncoder& encoder, std::span<const std::string> texts,
             const EmbedOptions& options = {});
/// The same, and how many tokens there were.
struct Embedded {
  Tensor vectors;
  std::int64_t tokens = 0;
};
Embedded embed_counted(Session& session, const TextEncoder& encoder,
                       std::span<const std::string> texts, const EmbedOptions& options = {});

/// A row of vectors, and the cosine of both.
struct Similar {
  std::int64_t row = 0;
  double cosine = 0;
};
/// For every row of `vectors` the `most` rows of `others` (both f32 [rows, width]) that are most
/// like it, the first of equals first. A row of length 0 is like none: its cosines are 0.
std::vector<std::vector<Similar>> most_similar(const Tensor& vectors, const Tensor& others,
                                               std::int64_t most);

}  // namespace weft
