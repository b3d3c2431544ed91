// Chat formats: templates that turn a conversation into the text that a model was trained on.
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

/// A value that a template reads in addition to the messages, for example "enable_thinking".
using ChatVariable = std::variant<bool, std::int64_t, double, std::string>;

/// The texts of special tokens by their names in templates, for example {"bos_token", "<s>"}.
using SpecialTexts = std::map<std::string, std::string>;
/// Returns the special tokens of a tokenizer.
SpecialTexts special_texts(const Tokenizer& tokenizer);

struct ChatOptions {
  /// Append the start of the answer that the model is to generate.
  bool add_generation_prompt = false;
  /// Variables of the template. They override the format's own variables of the same name.
  std::map<std::string, ChatVariable> variables = {};
  /// The time for formats that print the date. Default: the local time.
  std::optional<std::tm> now = {};
  TemplateLimits limits = {};
};

/// A conversation rendered as one UTF-8 text.
struct RenderedChat {
  std::string text;
  /// The origins of the bytes. The runs cover the whole text.
  std::vector<TextRun> runs;
  /// True if the template marks the text that the model generates ({% generation %}).
  bool marks_generation = false;
};

/// A chat format: a template in the subset of Jinja that published models use (specified in
/// template/template.h). Immutable and thread-safe.
class ChatFormat {
 public:
  /// Parses a template. Throws FormatError that names the syntax error or the unsupported
  /// construct, with line and column.
  static ChatFormat from_template(std::string_view source, SpecialTexts specials = {});
  /// Returns the built-in format `name`. `specials` override its own special tokens. Throws
  /// ArgumentError that lists built_in_names() if there is no such format.
  static ChatFormat built_in(std::string_view name, const SpecialTexts& specials = {});
  /// The names of the built-in formats: "chatml", "llama-2", "llama-3", "alpaca".
  static std::vector<std::string_view> built_in_names();

  /// Renders a conversation. Throws DataError, with line and column in the template, if the
  /// template raises an exception for the conversation (the message is the template's own), applies
  /// an operation to a value that does not support it, or exceeds a limit. Throws FormatError for a
  /// message that is not UTF-8.
  RenderedChat render(const Conversation& conversation, const ChatOptions& options = {}) const;

  /// Returns {"template": ..., "specials": {"bos_token": ...}}, which model files store.
  std::string to_json() const;
  /// Inverse of to_json(). Throws FormatError for a field that is missing, unknown or of the wrong
  /// type, and as from_template().
  static ChatFormat from_json(std::string_view json);

  /// The source text of the template.
  const std::string& source() const;
  const SpecialTexts& specials() const;

 private:
  struct State;
  explicit ChatFormat(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

/// The chat format of a folder, or the reason why there is none.
struct FolderChatFormat {
  std::optional<ChatFormat> format;
  std::string missing = {};
};
/// Reads the template `name` and the special tokens of a folder in Hugging Face layout. The
/// template is read from chat_template.jinja (for names other than "default":
/// additional_chat_templates/NAME.jinja), from "chat_template" in tokenizer_config.json (a string,
/// or a list of named templates), or from chat_template.json. Throws IoError.
FolderChatFormat read_chat_format(const std::string& folder, std::string_view name = "default");

}  // namespace weft
