// An encoder-decoder that maps texts to texts. It is stored in one file with its graph, programs,
// variables and the parts that are specific to this model type.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/corruption/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/generate/options.h"
#include "weft/models/generate/seq2seq.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/generative_model.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/seq2seq/languages.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// An encoder-decoder that is trained on text pairs or pre-trained on plain text. Programs:
///   train     one complete training step, with label smoothing in the loss. The inputs are
///             "source" i32 [batch, source_length], padded with the padding id, and "labels" i32
///             [batch, target_length], padded with -100.
///   evaluate  the same inputs, with teacher forcing and without dropout; output "loss", the mean
///             over all labels other than -100, without label smoothing
///   prompt, step, reorder_caches: decoding with caches (Seq2SeqPrograms)
///   score     log-probabilities of given outputs (make_score_program). Files written by the first
///             versions lack this program.
/// Models from Hugging Face folders have no "train". They have "evaluate" only if the folder
/// specifies the padding id and the decoder's start id.
struct Seq2SeqModel : ModelKind<Seq2SeqModel, GenerativeModel> {
  EncoderDecoderConfig config;
  /// The pre-training objective (denoising_task.h). Empty for models trained on pairs.
  std::optional<DenoisingOptions> denoising;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  std::unique_ptr<TextGenerator> text_generator(Session& session) const override;
  Seq2SeqPrograms decoding() const;
  /// Returns the ids that are in the embedding table but not in the tokenizer and therefore must
  /// not be generated. Returns an empty list if there is no tokenizer.
  TokenIds ids_without_text() const;
};

/// Builds a new model with the vocabulary of tokenizer.with_ends(). The model is not yet trainable;
/// a Session will create its variables. The vocabulary size, the padding id and the decoder's start
/// id (which equals the padding id) are taken from the tokenizer and replace the values in
/// `config`. `least_rows` is the minimum number of rows in the embedding table, for initial weights
/// with more rows than there are ids. Throws ArgumentError under the same conditions as the
/// EncoderDecoder constructor and with_ends(). If `generation` is given, the model is multilingual:
/// it has these settings, and the start id and the padding id of the config.
Seq2SeqModel build_translator(EncoderDecoderConfig config, const Tokenizer& tokenizer,
                              const TrainSettings& settings, std::int64_t least_rows = 0,
                              std::optional<GenerationSettings> generation = {},
                              SourceLocation loc = SourceLocation::current());

/// Returns the encoder-decoder in a Hugging Face folder. Returns null if the model class is not an
/// encoder-decoder or has no head for generating text. Throws ArgumentError if the config or the
/// generation settings are not supported, or if the tokenizer has more ids than the embedding table
/// has rows. Also throws the same exceptions as hf::load_weights.
std::unique_ptr<Seq2SeqModel> seq2seq_model_of(const hf::Folder& folder,
                                               const FolderTokenizer& text);

/// Translates the texts and returns the outputs in text order. The output for a blank text is
/// empty, because models invent a sentence for it. The maximum length of an output is about twice
/// the number of tokens in the source text or, for models from folders, the length in their
/// settings. The session must run the model's graph with its store. Throws ArgumentError if an
/// option is out of range or the model does not support a language. Throws TextError if the
/// tokenizer cannot encode a text, or if a text exceeds the model's positions and on_cut is not
/// set.
std::vector<std::string> translate(Session& session, const Seq2SeqModel& model,
                                   const std::vector<std::string>& texts,
                                   const TranslateOptions& options = {});
/// Same as translate(), but for any model, and returns all details of the outputs. Throws
/// FormatError if the model does not translate. weft translate prints the result.
std::vector<WrittenText> translate_texts(Session& session, const TrainedModel& model,
                                         const std::vector<std::string>& texts,
                                         const TranslateOptions& options = {});

/// translate_texts() in two steps, for texts that are read at different times and then translated
/// together.
class Translator {
 public:
  /// Throws FormatError if the model does not translate, and ArgumentError for options. The session
  /// and the model must outlive the translator. `options.before` is called by written() only.
  Translator(Session& session, const TrainedModel& model, const TranslateOptions& options);
  ~Translator();

  /// Encodes texts; blank texts have no ids. Throws TextError like translate(). Does not use the
  /// session.
  std::vector<TokenIds> read(const std::vector<std::string>& texts) const;
  /// Returns the translations of texts that were read by this or by another translator with the
  /// same options.
  std::vector<WrittenText> written(std::vector<TokenIds> prompts) const;

 private:
  /// Same as written(), for prompts with at least one id.
  std::vector<WrittenText> translate_prompts(std::vector<TokenIds> sources) const;

  Session& session_;
  const Seq2SeqModel& model_;
  TranslateOptions options_;
  std::unique_ptr<TextGenerator> writer_;
  GenerationOptions generation_;
};

/// Same as translate(), but for ids; returns the output ids. Intended for models trained by Weft.
/// Each source must include the end id, as in texts encoded by the tokenizer.
std::vector<TokenIds> translate_ids(Session& session, const Seq2SeqModel& model,
                                    const std::vector<std::vector<std::int32_t>>& sources,
                                    const TranslateOptions& options = {});

/// Returns the maximum number of ids in a source or target text: the number of learned positions,
/// or unlimited for other position encodings.
std::int64_t longest_text(const EncoderDecoderConfig& config);

/// Cross-attention probabilities of the decoder for a given translation: [heads, target, source]
/// for every layer. Row i belongs to output i of the decoder, and shows which source tokens the
/// output attends to. `source` and `target` are the tokens, including end tokens; longer texts are
/// truncated to longest_text(). Computing the probabilities adds values to the graph, so the graph
/// must not be shared between threads.
struct CrossAttention {
  std::vector<std::string> source, target;
  std::vector<Tensor> layers;
};
CrossAttention cross_attention(Session& session, const Seq2SeqModel& model, std::string_view source,
                               std::string_view target);

}  // namespace weft
