// Fuzzes the requests of the HTTP server. For any body, either ApiError with a status from 400 to
// 499 is thrown, whose body is valid UTF-8, or the options of a request and the schema of its tools
// can be made. The tool calls in a text do not depend on the pieces in which it arrives. The first
// byte selects what the others are: c, b, d and a for a chat, a completion, a generated text, and
// the body of another endpoint.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "weft/models/serve/http/protocol/api_error.h"
#include "weft/models/serve/http/protocol/input_call.h"
#include "weft/models/serve/http/protocol/text_call.h"
#include "weft/models/serve/http/protocol/tool_calls.h"
#include "weft/models/text/unicode/repair.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void make_options(const weft::TextCall& call) {
  const weft::GenerationOptions options =
      weft::generation_options(call, {}, 10, 100, 20, 50, 1, call.choices - 1);
  require(options.max_new >= 1 && options.max_new <= 50);
  require(call.choices >= 1 && call.choices <= weft::kMaxTexts);
}

/// Calls `read`, which may throw an error for the client.
template <class Read>
void parse(const Read& read) {
  try {
    read();
  } catch (const weft::ApiError& error) {
    const std::string text = error.body();
    require(error.status() >= 400 && error.status() < 500);
    require(weft::find_invalid_utf8(text) == text.size());
  }
}

void parse_chat(std::string_view body) {
  const weft::ChatCall call = weft::read_chat_call(body);
  require(!call.messages.empty());
  make_options(call);
  if (!call.tools.empty() && call.must_call()) require(!weft::tool_schema(call).empty());
}

void parse_completion(std::string_view body) {
  const weft::CompletionCall call = weft::read_completion_call(body);
  require(!call.prompts.empty() && std::ssize(call.prompts) <= weft::kMaxTexts);
  make_options(call);
}

/// Parses a text in pieces of `piece` bytes, and returns its content and its calls as one text.
std::string calls_of(std::string_view text, std::size_t piece) {
  weft::ToolCallParser parser;
  std::string content, calls;
  const auto add = [&](const weft::AnswerPart& part) {
    content += part.content;
    for (const weft::ToolCall& call : part.calls) calls += call.name + "(" + call.arguments + ")";
  };
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    add(parser.add(text.substr(0, piece)));
  add(parser.finish());
  return content + "\n" + calls;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const std::string whole = calls_of(text, text.size() + 1);
      for (const std::size_t piece : {1, 2, 7}) require(calls_of(text, piece) == whole);
      break;
    }
    case 1:
      parse([&] { weft::read_embedding_call(text); });
      parse([&] { weft::read_rerank_call(text); });
      parse([&] { weft::read_classify_call(text); });
      parse([&] { weft::read_translate_call(text); });
      parse([&] { weft::read_tokenize_call(text); });
      parse([&] { weft::read_detokenize_call(text); });
      break;
    case 2: parse([&] { parse_completion(text); }); break;
    default: parse([&] { parse_chat(text); });
  }
  return 0;
}
