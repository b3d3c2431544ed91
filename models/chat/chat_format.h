// How a model wants to see a conversation: as one text with marks of its own.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/chat/conversation.h"
#include "weft/models/chat/origin.h"
#include "weft/models/chat/template_limits.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// What a format reads besides messages: "enable_thinking", say.
using ChatVariable = std::variant<bool, std::int64_t, double, std::string>;

/// Special tokens by the names that formats know them by: {"bos_token", "<s>"}.
using SpecialTexts = std::map<std::string, std::string>;
/// Those of a tokenizer.
SpecialTexts special_texts(const Tokenizer& tokenizer);

struct ChatOptions {
  /// The text ends with the beginning of the answer that a model is to give.
  bool add_generation_prompt = false;
  /// They stand before what the format has of the same name.
  std::map<std::string, ChatVariable> variables = {};
  /// What the time is for formats that write the date; the local time where it is missing.
  std::optional<std::tm> now = {};
  TemplateLimits limits = {};
};

/// A conversation as one text, UTF-8.
struct RenderedChat {
  std::string text;
  std::vector<TextRun> runs;      // who wrote which bytes of it; they cover all of it
  bool marks_generation = false;  // the format itself says what a model is to write
};

/// A chat format: a template in the part of Jinja that published models use (template/template.h
/// says what that is). Immutable; one for several threads.
class ChatFormat {
 public:
  /// Throws FormatError that says what is wrong in the template or not supported, and where.
  static ChatFormat from_template(std::string_view source, SpecialTexts specials = {});
  /// One of built_in_names(). `specials` stand before its own. Throws ArgumentError that lists
  /// them.
  static ChatFormat built_in(std::string_view name, const SpecialTexts& specials = {});
  /// "chatml", "llama-2", "llama-3", "alpaca".
  static std::vector<std::string_view> built_in_names();

  /// Throws DataError where the format refuses the conversation (in its own words), where it does
  /// what values do not allow, and beyond the limits, always with line and column of the template;
  /// FormatError for a message that is no UTF-8.
  RenderedChat render(const Conversation& conversation, const ChatOptions& options = {}) const;

  /// {"template": ..., "specials": {"bos_token": ...}}: what models' files store.
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, and as from_template().
  static ChatFormat from_json(std::string_view json);

  /// The template.
  const std::string& source() const;
  const SpecialTexts& specials() const;

 private:
  struct State;
  explicit ChatFormat(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

/// The chat format of a folder, or why there is none that Weft reads.
struct FolderChatFormat {
  std::optional<ChatFormat> format;
  std::string missing = {};
};
/// Reads the template `name` of a folder that Hugging Face's library wrote: chat_template.jinja
/// (additional_chat_templates/NAME.jinja of another name than "default"), "chat_template" of
/// tokenizer_config.json (a text, or a list of templates with names), or chat_template.json; and
/// the special tokens that the folder names. Throws IoError.
FolderChatFormat read_chat_format(const std::string& folder, std::string_view name = "default");

}  // namespace weft
