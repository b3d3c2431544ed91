// Language models, which predict the next token of a text from the previous tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/models/gguf/model.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/generative_model.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// Name of the attachment with the model's ChatFormat.
inline constexpr const char* kChatPart = "model.chat";

/// A language model. Its programs have the inputs "tokens" and "targets", both i32 [batch, seq]:
///   train     one complete training step
///   evaluate  "loss": mean over all positions, without dropout
///   decode    incremental decoding with a Generator; see Gpt::decode_program
///   score     "losses" [batch, seq]: the terms of the mean in `evaluate`. Files written by the
///             first versions lack this program.
/// Models from Hugging Face folders have no "train".
struct LanguageModel : ModelKind<LanguageModel, GenerativeModel> {
  GptConfig config;
  /// The chat format, if known.
  std::optional<ChatFormat> chat = {};

  /// Returns the layout of the model file. For the task "instructions", "train" and "evaluate" also
  /// have the inputs for packed rows (see build_instructed_model).
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the model in Hugging Face layout.
  FolderModel to_folder() const;
  /// Writes the model as a GGUF file. Throws ArgumentError if it has adapters, and in the same
  /// cases as gguf::write_model().
  gguf::WriteReport save_gguf(const std::string& path,
                              gguf::OutType type = gguf::OutType::automatic) const;
  std::unique_ptr<TextGenerator> text_generator(Session& session) const override;
};

/// Builds the programs of a language model in `graph`. The only output of "train" is "loss". The
/// graph values "hidden.<i>", "last_hidden_state" and "logits" belong to "evaluate".
Programs build_gpt_programs(Graph& graph, const GptConfig& config, const TrainSettings& settings,
                            SourceLocation loc = SourceLocation::current());

/// Builds a new model that is not yet trainable; a Session will create its variables. Throws
/// ArgumentError if the vocabulary sizes of the config and the tokenizer differ. With subword
/// tokenizers, the model may have more ids than the tokenizer, like published models with a padded
/// vocabulary; these ids do not occur in texts.
LanguageModel build_language_model(const GptConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings);

/// Returns the decoder in a Hugging Face folder, or null if the model class is not a language model
/// in the GPT family. Throws ArgumentError if the config or the generation settings are not
/// supported, or if the tokenizer has more ids than the embedding table has rows. Also throws the
/// same exceptions as hf::load_weights.
std::unique_ptr<LanguageModel> language_model_of(const hf::Folder& folder,
                                                 const FolderTokenizer& text);

/// Returns the decoder in a GGUF file. Appends notes for users to `notes`, if it is not null. If
/// `keep_formats` is false, all weights are f32. Throws the same exceptions as
/// gguf::load_weights().
std::unique_ptr<LanguageModel> language_model_of(const gguf::ModelFile& file,
                                                 std::vector<std::string>* notes = nullptr,
                                                 bool keep_formats = true);

/// Returns the ids that do not decode to text and therefore must never be generated. They do not
/// include ids for the beginning or end of a text, nor special ids of models from folders.
TokenIds ids_without_text(const LanguageModel& model);

}  // namespace weft
