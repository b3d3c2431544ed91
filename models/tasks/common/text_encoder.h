// Text embeddings: uses any encoder to map texts to vectors.
//
//     const LoadedModel loaded = load_any_model("all-MiniLM-L6-v2");
//     const auto encoder = text_encoder(*loaded.model);
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
#include "weft/models/families/encoder.h"
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
};

struct TextEncoder;

/// The members that all text encoders, with or without a head, have in common.
struct EncoderModel : TrainedModel {
  EncoderConfig config;
  Tokenizer tokenizer;
  /// For encoders from folders, and for question answering.
  std::optional<TextReading> reading;

  /// Throws the same exceptions as check_vocabulary().
  void check() const override;
  /// Returns the reader for the model's inputs. The model must outlive it.
  TextReader reader() const { return {config, tokenizer, reading}; }
  /// Returns the encoder without its head. It shares the weights with the model; quantised weights
  /// remain quantised, and adapters remain separate.
  virtual std::unique_ptr<TextEncoder> text_encoder() const;
};

/// Returns the encoder of any model with a text encoder; weft embed runs it. Throws FormatError if
/// the model has no text encoder.
std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model);

/// Adds the inputs "tokens" and "mask" i32 [batch, seq] to a graph and, if `token_types` is set,
/// the input "token_types" of the same shape.
EncoderInputs add_text_inputs(Graph& graph, bool token_types = false);

/// An encoder without a head. Its programs have the inputs "tokens" i32 [batch, seq] and "mask" i32
/// [batch, seq] (1 = token), and the output "vectors" f32 [batch, width]:
///   mean  mean of the last layer's outputs over all tokens in a text
///   cls   output of the last layer for the first token
/// If a folder's model class has a pooler over the first token, the program "pooler" computes its
/// output.
struct TextEncoder : ModelKind<TextEncoder, EncoderModel> {
  TextVectors vectors;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  /// Returns the encoder in Hugging Face layout.
  FolderModel to_folder() const;
  /// Returns a copy of this encoder.
  std::unique_ptr<TextEncoder> text_encoder() const override;
};

/// Adds the programs "mean" and "cls" for `h` [batch, seq, width], the output of the last layer.
void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask);

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
