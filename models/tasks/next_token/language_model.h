// A language model: the next token of a text, from those before it.
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

/// The attachment that holds a model's ChatFormat.
inline constexpr const char* kChatPart = "model.chat";

/// Programs over inputs "tokens" and "targets", both i32 [batch, seq]:
///   train     one whole training step
///   evaluate  "loss": mean over all positions, without dropout
///   decode    incremental decoding, as Gpt::decode_program says: what a Generator runs
///   score     "losses" [batch, seq]: what `evaluate` takes the mean of. Files of the first
///   versions
///             lack it.
/// Of a folder of Hugging Face's library there is no "train".
struct LanguageModel : ModelKind<LanguageModel> {
  GptConfig config;
  Tokenizer tokenizer;
  /// Of a model of a folder: how its authors let it write. Texts are then read as its tokenizer
  /// says, and what Weft trained without end is not meant: they have ends.
  std::optional<GenerationSettings> generation;
  /// How it wants to see a conversation, where that is known.
  std::optional<ChatFormat> chat;
  /// Why there is no tokenizer; such a model is for ids alone, and no file can hold it.
  std::string no_tokenizer;

  /// Of the task "instructions", "train" and "evaluate" have the inputs of packed rows, too
  /// (build_instructed_model says which).
  static const ModelLayout& file_layout();
  void check() const override;
};

/// The programs of a language model in `graph`; "train" has the output "loss" only. Values
/// "hidden.<i>", "last_hidden_state" and "logits" are those of `evaluate`.
Programs build_gpt_programs(Graph& graph, const GptConfig& config, const TrainSettings& settings,
                            SourceLocation loc = SourceLocation::current());

/// A new model that cannot be trained yet, its variables not made (a Session does that). Throws
/// ArgumentError where config and tokenizer differ in vocabulary. Only beside pieces may the model
/// have more ids, as published models do whose vocabulary was rounded up: no text has those.
LanguageModel build_language_model(const GptConfig& config, const Tokenizer& tokenizer,
                                   const TrainSettings& settings);

/// The decoder in a folder of Hugging Face's library. Null where its class is no language model of
/// the GPT family. Throws ArgumentError for a config or settings of generation that are not
/// supported and for a tokenizer with more ids than the model's table has rows; as
/// hf::load_weights.
std::unique_ptr<LanguageModel> language_model_of(const hf::Folder& folder,
                                                 const FolderTokenizer& text);

/// The model as a folder of the library has it.
FolderModel folder_model_of(const LanguageModel& model);

/// The ids of a model that stand for no text, whatever their probability: what it must not
/// generate. Beginnings and ends of texts are none of these, nor special ids of a folder's model.
TokenIds ids_without_text(const LanguageModel& model);

}  // namespace weft
