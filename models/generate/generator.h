// Writing: tokens from a language model, one at a time.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/generate/sampling.h"

namespace weft {

/// Generates with the `decode` program of LanguageModelPrograms: every token costs one step over a
/// key/value cache. When the model's context is full, the later half of the text is kept and its
/// keys and values are computed anew (positions are learned, so cached ones cannot move).
class Generator {
 public:
  /// Session and program must outlive the Generator; the session may be training between calls.
  Generator(Session& session, const Program& decode, std::int64_t context);

  /// `count` tokens that follow `prompt` (only the last `context` tokens of it are read). Calls
  /// on_token after each, which ends early by returning false. A function of the variables, prompt
  /// and options alone. Throws ArgumentError for an empty prompt and for options out of range.
  std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt, std::int64_t count,
                                     const SamplingOptions& options = {},
                                     const std::function<bool(std::int32_t)>& on_token = {});

 private:
  /// Runs `tokens` after `position` cached ones: logits of the last.
  Tensor step(std::span<const std::int32_t> tokens, std::int64_t position);

  Session& session_;
  const Program& decode_;
  std::int64_t context_;
  std::int64_t capacity_ = 0;
};

}  // namespace weft
