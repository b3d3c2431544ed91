// Text embeddings: uses any encoder to map texts to vectors.
//
//     const LoadedModel loaded = load_any_model("all-MiniLM-L6-v2");
//     const auto encoder = text_encoder(*loaded.model);
//     Session session(*encoder->graph, encoder->store);
//     Tensor vectors = embed(session, *encoder, {"one text", "another one"});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/token_pooling.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/inputs/sentences/contrastive_options.h"
#include "weft/models/inputs/sentences/sentence_settings.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// The program of text encoders that computes vectors as Sentence Transformers does.
inline constexpr const char* kVectorsProgram = "vectors";
/// The program of text encoders that computes vectors of texts without padding.
inline constexpr const char* kUnpaddedProgram = "unpadded";

/// The default pooling of an encoder, stored in its file. It applies to models without settings of
/// Sentence Transformers.
struct TextVectors {
  TextPooling pooling = TextPooling::mean;

  /// Returns all fields with their help texts.
  static const FieldList<TextVectors>& fields();
};

struct TextEncoder;

/// The members that all text encoders, with or without a head, have in common.
struct EncoderModel : TrainedModel {
  EncoderConfig config;
  Tokenizer tokenizer = {};
  /// For encoders from folders, and for question answering.
  std::optional<TextReading> reading = {};

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
/// Adds the inputs "unpadded_tokens" i32 [1, total] and "offsets" i64 [texts + 1] to a graph and,
/// if `token_types` is set, the input "unpadded_token_types" i32 [1, total].
EncoderInputs add_unpadded_inputs(Graph& graph, bool token_types = false);

/// The ending of the names of programs that skip padding in all layers. They have the additional
/// input "token_places" i64 [tokens] (EncoderInputs::token_places), and their results equal those
/// of the program without the ending within rounding.
inline constexpr const char* kUnpaddedEnding = "_unpadded";
/// Adds the input "token_places" to a graph.
Value add_token_places(Graph& graph);
/// Returns the program "<name>_unpadded" or, if the model lacks it, the program `name`. Encoders
/// that do not support it and files of earlier versions lack it.
const Program& without_padding(const TrainedModel& model, const std::string& name);
/// Returns the inputs of a program for rows of texts: those of TextReader::inputs(), and
/// "token_places" if the program reads them.
NamedTensors inputs_of(const Program& program, const TextReader& reader,
                       std::span<const TextRow* const> rows, std::int64_t multiple = 16);

/// An encoder without a head. Its programs have the inputs "tokens" i32 [batch, seq] and "mask" i32
/// [batch, seq] (1 = token), and the output "vectors" f32 [batch, width]:
///   mean, cls, ...  the pooled outputs of the last layer, one program for each TextPooling
///   vectors         for models with settings of Sentence Transformers: the vectors after all
///                   modules except a Normalize at the end
/// If the tokens of prompts are not pooled, the programs also have the input "pooled" i32 [batch,
/// seq], which is 1 for pooled tokens. If a folder's model class has a pooler over the first token,
/// the program "pooler" computes its output.
///
/// If the encoder supports it (supports_offsets()), the program "unpadded" computes the vectors of
/// texts without padding, from the inputs "unpadded_tokens" i32 [1, total], "offsets" i64 [texts +
/// 1] and, if the tokens of prompts are not pooled, "unpadded_pooled" i32 [1, total]. It has one
/// output f32 [texts, width] with the name of each program above except "pooler"; embed() computes
/// only one of them.
///
/// The encoder may be a decoder of the GPT family, in which the last token attends to the whole
/// text (Qwen3-Embedding). `config` then contains only the sizes that concern the texts.
///
/// Encoders that were trained on queries and passages also have `contrastive` and the program
/// "train" (tasks/text_embedding/embedding_model.h).
struct TextEncoder : ModelKind<TextEncoder, EncoderModel> {
  TextVectors vectors;
  std::optional<GptConfig> decoder = {};
  std::optional<ContrastiveOptions> contrastive = {};

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  /// Returns the encoder in Hugging Face layout.
  FolderModel to_folder() const;
  /// Returns a copy of this encoder.
  std::unique_ptr<TextEncoder> text_encoder() const override;
  /// Returns the settings of the Sentence Transformers folder that the model came from, or nullopt
  /// if it came from another source.
  std::optional<SentenceSettings> sentences() const;
};

/// Adds the programs for all poolings of `h` [batch, seq, width], the output of the last layer,
/// and, if there are `settings`, the program "vectors".
void add_text_vectors(TextEncoder& encoder, const Value& h, const Value& mask,
                      const SentenceSettings* settings = nullptr);

/// Adds the program "unpadded" to an encoder that already has its other programs and variables, if
/// `config` supports texts without padding.
void add_unpadded_vectors(TextEncoder& encoder, const EncoderConfig& config,
                          const SentenceSettings* settings = nullptr);
/// Returns the vectors of texts after all modules except a Normalize at the end. `pool` applies a
/// TextPooling to the hidden states. The parameters of the modules are declared in `root`, the
/// scope of the encoder's parameters in a pass over the model.
Value apply_modules(const SentenceSettings& settings, const Scope& root,
                    const std::function<Value(TextPooling)>& pool);

/// Returns the number of tokens at the beginning of each row that belong to the prompt. As in
/// Sentence Transformers, they include special tokens before the prompt. Throws DataError if the
/// prompt leaves no room for a text.
std::size_t prompt_tokens(const TextReader& reader, const std::string& prompt);
/// Returns the input "pooled" for rows with the mask `mask` i32 [rows, length]: 0 for the first
/// `skipped` tokens.
Tensor pooled_tokens(const Tensor& mask, std::size_t skipped);

struct EmbedOptions {
  /// If empty, the pooling that the encoder's file or folder specifies, or else the mean.
  std::optional<TextPooling> pooling = {};
  /// Whether vectors are scaled to length 1, so that dot products are cosines. If empty, a model
  /// from a Sentence Transformers folder decides by its modules, and other vectors are scaled.
  std::optional<bool> normalise = {};
  /// Keep only the first values of each vector, and scale these to length 1 if vectors are scaled
  /// (matryoshka embeddings, Kusupati et al. 2022). If empty, the model's setting, or all values.
  std::optional<std::int64_t> dimensions = {};
  /// A text that is inserted before every text, or the name of one of the model's prompts; at most
  /// one of them. If both are empty, the model's default prompt. An empty prompt inserts nothing.
  std::optional<std::string> prompt = {}, prompt_name = {};
  /// Maximum number of tokens per batch, including padding if the encoder needs padding.
  std::int64_t batch_tokens = 4096;
  OnCut on_cut = {};
};

/// Returns the text vectors, f32 [texts, width], in text order. If the encoder has the program
/// "unpadded", the texts of a batch follow each other without padding; otherwise, texts of similar
/// length are batched together to reduce padding. A vector depends on the other texts only within
/// rounding, because sums are grouped by the batch. `session` must run the encoder's graph with its
/// store. Throws the same exceptions as TextReader::rows and SentenceSettings::prompt, and
/// ArgumentError if an option does not apply to the model: more dimensions than the vectors have,
/// or another pooling for a model with modules that depend on the pooling.
Tensor embed(Session& session, const TextEncoder& encoder, std::span<const std::string> texts,
             const EmbedOptions& options = {});
/// embed() in two steps, for texts that are read at different times and then embedded together.
class TextEmbedder {
 public:
  /// The encoder must outlive the embedder. Throws the same exceptions as embed() for options.
  TextEmbedder(const TextEncoder& encoder, const EmbedOptions& options);
  /// Encodes texts after their prompt. Throws TextError like embed().
  std::vector<TextRow> read(std::span<const std::string> texts) const;
  std::int64_t width() const { return static_cast<std::int64_t>(output_.dimensions); }
  /// Returns the vectors, f32 [rows, width()], in the order of the rows.
  Tensor vectors(Session& session, std::span<const TextRow* const> rows) const;

  /// How vectors are written to the result.
  struct Output {
    std::size_t dimensions = 0;  // number of values that are kept
    bool normalise = true;
    std::size_t measured = 0;  // number of values from which the length is computed
  };

 private:
  const TextEncoder& encoder_;
  EmbedOptions options_;
  Program program_{kUnpaddedProgram};
  bool unpadded_ = false;
  std::string prompt_;
  bool skips_ = false;       // the tokens of the prompt are not pooled
  std::size_t skipped_ = 0;  // number of tokens of the prompt
  Output output_;
};

/// The text vectors, as returned by embed(), and the total number of tokens in all texts.
struct Embedded {
  Tensor vectors;
  std::int64_t tokens = 0;
};
Embedded embed_counted(Session& session, const TextEncoder& encoder,
                       std::span<const std::string> texts, const EmbedOptions& options = {});

/// The index of a matrix row, and its similarity to another vector.
struct Similar {
  std::int64_t row = 0;
  double cosine = 0;  // or the value of another VectorSimilarity
};
/// For every row of `vectors`, returns the `most` most similar rows of `others` (both f32 [rows,
/// width]) in descending order of similarity; ties are sorted by row. The cosine with a zero vector
/// is 0.
std::vector<std::vector<Similar>> most_similar(
    const Tensor& vectors, const Tensor& others, std::int64_t most,
    VectorSimilarity similarity = VectorSimilarity::cosine);

}  // namespace weft
