// The texts of one request while they are generated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/models/serve/http/exchange.h"
#include "weft/models/serve/http/model_table.h"
#include "weft/models/serve/http/protocol/text_reply.h"

namespace weft {

/// How the texts of a request are generated and returned.
struct TextPlan {
  ChosenModel model;
  std::vector<TextRequest> requests;  // choice i is request i
  std::int64_t choices_per_prompt = 1;
  bool chat = false;
  bool stream = false, stream_usage = false;
  bool finds_calls = false;      // tool calls in the texts are recognised
  bool single_call = false;      // at most one call per text
  std::string called_tool = {};  // the texts are arguments for this tool
};

/// Submits the requests of `plan` and replies to `exchange` with their texts, whole or as a stream.
/// Throws ApiError, and the same exceptions as TextEngine::submit(); nothing was replied then.
/// Called on a worker thread.
void start_texts(const std::shared_ptr<Exchange>& exchange, TextPlan plan);

}  // namespace weft
