// Language models: they predict the next token of a text from the tokens before it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/models/chat/chat_format.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// Name of the attachment that holds the ChatFormat of a model.
inline constexpr const char* kChatPart = "model.chat";

/// Programs over the inputs "tokens" and "targets", both i32 [batch, seq]:
///   train     one whole training step
///   evaluate  "loss": mean over all positions, without dropout
///   decode    incremental decoding, see Gpt::decode_program; a Generator runs it
///   score     "losses" [batch, seq]: the terms of the mean in `evaluate`. Files of the first
///             versions lack this program.
/// Models from Hugging Face folders have no "train".
struct LanguageModel : ModelKind<LanguageModel> {
  GptConfig config;
  Tokenizer tokenizer;
  /// The generation settings of the model's authors, for models from folders. With them, texts are
  /// encoded as the tokenizer specifies and generated texts have ends; models that Weft trained on
  /// plain text generate without end.
  std::optional<GenerationSettings> generation;
  /// The chat format, if it is known.
  std::optional<ChatFormat> chat;
  /// The reason why there is no tokenizer. Such a model works on ids only, and cannot be saved to a
  /// file.
  std::string no_tokenizer;

  /// For the task "instructions", "train" and "evaluate" also have the inputs of packed rows (see
  /// build_instructed_model).
  static const ModelLayout& file_layout();
  void check() const override;
};

/// Builds the programs of a language model in `graph`. The only output of "train" is "loss". The
/// values "hidden.<i>", "last_hidden_state" and "logits" are those of `evaluate`.
Programs build_gpt_programs(Graph& graph, const GptConfig& config, const TrainSettings& settings,
                            SourceLocation loc = SourceLocation::current());

/// Builds a new model that is not yet trainable; a Session will create its variables. Throws
/// ArgumentError if the vocabulary sizes of config and tokenizer differ. Only with a subword
/// tokenizer may the model have more ids, like published models with a vocabulary that was rounded
/// up; no text contains these ids.
LanguageModel build_language_model(const GptConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings);

/// Returns the decoder in a Hugging Face folder, or null if its class is not a language model of
/// the GPT family. Throws ArgumentError for an unsupported config or unsupported generation
/// settings, and for a tokenizer with more ids than the embedding table has rows; also throws the
/// same exceptions as hf::load_weights.
std::unique_ptr<LanguageModel> language_model_of(const hf::Folder& folder,
                                                 const FolderTokenizer& text);

/// Returns the model in Hugging Face layout.
FolderModel folder_model_of(const LanguageModel& model);

/// Returns the ids that do not decode to text and so must not be generated, whatever their
/// probability. They do not include ids for the beginning or end of a text, nor special ids of
/// models from folders.
TokenIds ids_without_text(const LanguageModel& model);

}  // namespace weft
