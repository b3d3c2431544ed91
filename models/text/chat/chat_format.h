// Chat formats: templates that convert a conversation to the text format on which a model was
// trained.
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
#include "weft/models/fields/model_path.h"
#include "weft/models/text/chat/conversation.h"
#include "weft/models/text/jinja/message_origin.h"
#include "weft/models/text/jinja/template_limits.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// A JSON value as text, for example a list of tools.
struct JsonText {
  std::string text;
};

/// A value that a template reads in addition to the messages, for example the value of
/// "enable_thinking", or the JSON list "tools" or "documents".
using ChatVariable = std::variant<bool, std::int64_t, double, std::string, JsonText>;

/// Returns the fields of a JSON object as template variables, for example
/// {"enable_thinking": false, "tools": [...]}. Throws FormatError with position and reason if
/// `json` is not a valid JSON object.
std::map<std::string, ChatVariable> chat_variables(std::string_view json);

/// The texts of special tokens, keyed by their names in templates, for example {"bos_token",
/// "<s>"}.
using SpecialTexts = std::map<std::string, std::string>;
/// Returns the special tokens of a tokenizer.
SpecialTexts special_texts(const Tokenizer& tokenizer);

struct ChatOptions {
  /// If true, appends the start of the answer that the model will generate.
  bool add_generation_prompt = false;
  /// Template variables. They override variables of the format that have the same name.
  std::map<std::string, ChatVariable> variables = {};
  /// The time used by formats that print the date. The default is the current local time.
  std::optional<std::tm> now = {};
  TemplateLimits limits = {};
};

/// A conversation rendered as a single UTF-8 text.
struct RenderedChat {
  std::string text;
  /// The origins of the bytes of `text`. The runs cover the whole text.
  std::vector<TextRun> runs;
  /// True if the template marks model-generated text with {% generation %}.
  bool marks_generation = false;
};

/// A chat format: a template in the subset of Jinja that published models use (see
/// template/template.h) and its special tokens. Immutable and thread-safe.
class ChatFormat {
 public:
  /// Parses a template. Throws a FormatError that names the syntax error or the unsupported
  /// construct, with its line and column.
  static ChatFormat from_template(std::string_view source, SpecialTexts specials = {});
  /// Returns the built-in format `name`. `specials` override the special tokens of the format. If
  /// there is no such format, throws an ArgumentError that lists built_in_names().
  static ChatFormat built_in(std::string_view name, const SpecialTexts& specials = {});
  /// Returns the names of the built-in formats: "chatml", "llama-2", "llama-3" and "alpaca".
  static std::vector<std::string_view> built_in_names();

  /// Renders a conversation. Throws DataError, with the line and column in the template, if the
  /// template raises an exception (the error contains its message), applies an operation to a value
  /// that does not support it, or exceeds a limit. Throws FormatError if a message is not valid
  /// UTF-8.
  RenderedChat render(const Conversation& conversation, const ChatOptions& options = {}) const;

  /// Returns {"template": ..., "specials": {"bos_token": ...}}, the form in which model files store
  /// the format.
  std::string to_json() const;
  /// Inverse of to_json(). Throws FormatError if a field is missing, unknown or of the wrong type,
  /// and in the same cases as from_template().
  static ChatFormat from_json(std::string_view json);

  /// Returns the source text of the template.
  const std::string& source() const;
  const SpecialTexts& specials() const;

 private:
  struct State;
  explicit ChatFormat(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

/// The chat format of a folder, or the reason why the folder has none.
struct FolderChatFormat {
  std::optional<ChatFormat> format;
  std::string missing = {};
};
/// Reads the template `name` and the special tokens of a Hugging Face model folder. The template is
/// read from chat_template.jinja (additional_chat_templates/NAME.jinja for names other than
/// "default"), from "chat_template" in tokenizer_config.json (a string, or a list of named
/// templates), or from chat_template.json. Throws IoError if a file cannot be read.
FolderChatFormat read_chat_format(const ModelPath& from, std::string_view name = "default");

}  // namespace weft
