// Calls of tools in generated texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// A call of a function with its arguments, a JSON object as text. In a stream, a call without a
/// name contains further arguments of the call before.
struct ToolCall {
  std::string name, arguments;
};

/// A part of a text: content for the reader, and complete calls.
struct AnswerPart {
  std::string content = {};
  std::vector<ToolCall> calls = {};
};

/// Separates tool calls from the other text while the text is generated. Recognises these forms:
///   <tool_call>{"name": ..., "arguments": {...}}</tool_call>   (Hermes, Qwen)
///   {"name": ..., "parameters": {...}}                         (Llama 3; the whole text)
///   [TOOL_CALLS] [{"name": ..., "arguments": {...}}, ...]      (Mistral; with or without the mark,
///                                                              which is a special token)
/// Anything else is content, also if it only resembles a call.
class ToolCallParser {
 public:
  /// Adds generated text. Text that may belong to a call is held back.
  AnswerPart add(std::string_view text);
  /// Ends the text and returns the rest.
  AnswerPart finish();

 private:
  void take_marked(AnswerPart& part, bool complete);

  std::string held_;
  bool started_ = false;  // something else than whitespace was generated
  bool whole_ = false;    // the whole text may be JSON
};

}  // namespace weft
