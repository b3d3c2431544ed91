// Replies with generated texts in OpenAI's protocol, whole and as chunks of a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/serve/http/protocol/tool_calls.h"

namespace weft {

/// The fields that all parts of a reply share.
struct ReplyHead {
  bool chat = false;
  std::string id = {};
  std::string model = {};
  std::int64_t created = 0;  // seconds since 1970
};

/// The bytes of a token, its log-probability, and the most likely alternatives.
struct ReplyToken {
  std::string bytes;
  double log_probability = 0;
  std::vector<std::pair<std::string, double>> top = {};
};

/// A part of a choice, or a whole choice.
struct ReplyChoice {
  std::int64_t index = 0;
  std::string text = {};
  std::vector<ToolCall> calls = {};
  std::int64_t first_call = 0;             // number of earlier calls of the stream
  std::optional<std::string> finish = {};  // stop, length, tool_calls
  bool scored = false;                     // tokens are a part of the reply
  std::vector<ReplyToken> tokens = {};
  std::int64_t text_offset = 0;  // characters of the stream before `tokens`
};

struct ReplyUsage {
  std::int64_t prompt = 0, cached = 0, completion = 0;  // tokens
};

/// Returns a whole reply.
std::string text_reply(const ReplyHead& head, const std::vector<ReplyChoice>& choices,
                       const ReplyUsage& usage);
/// Returns a chunk of a stream. The first chunk of a chat choice contains the role. `null_usage`
/// adds "usage": null, for streams that end with a usage chunk.
std::string text_chunk(const ReplyHead& head, const ReplyChoice& choice, bool first,
                       bool null_usage);
/// Returns the last chunk of a stream, without choices.
std::string usage_chunk(const ReplyHead& head, const ReplyUsage& usage);

/// Returns a server-sent event.
std::string sse_event(std::string_view data);

/// Returns the number of code points in a valid UTF-8 text.
std::int64_t code_points(std::string_view text);

}  // namespace weft
