#include "weft/models/generate/generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {

Generator::Generator(Session& session, const Program& decode, std::int64_t context)
    : session_(session), decode_(decode), context_(context) {
  if (context < 1) throw ArgumentError(fmt::format("context must be at least 1, not {}", context));
}

Tensor Generator::step(std::span<const std::int32_t> tokens, std::int64_t position) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  const Results results = session_.run(decode_,
                                       {{"tokens", Tensor::of<std::int32_t>({1, count}, tokens)},
                                        {"position", Tensor::of<std::int64_t>({}, {position})}},
                                       {.dims = {{"capacity", capacity_}}});
  return results["logits"];
}

std::vector<std::int32_t> Generator::generate(std::span<const std::int32_t> prompt,
                                              std::int64_t count, const SamplingOptions& options,
                                              const std::function<bool(std::int32_t)>& on_token) {
  options.check();
  if (prompt.empty()) throw ArgumentError("the prompt is empty: a first token is needed to go on");
  const auto given = static_cast<std::int64_t>(prompt.size());
  // Caches are as small as this text allows; another size means other caches.
  const std::int64_t capacity = std::min(context_, given + count);
  if (capacity != capacity_) session_.reset_caches();
  capacity_ = capacity;

  std::vector<std::int32_t> text(prompt.begin(), prompt.end());
  std::vector<std::int32_t> pending(prompt.end() - std::min(given, context_), prompt.end());
  std::int64_t cached = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor logits = step(pending, cached);
    cached += static_cast<std::int64_t>(pending.size());
    const std::int32_t token = sample_token(logits.span<float>(), options, 0, i);
    text.push_back(token);
    if (on_token && !on_token(token)) break;
    pending = {token};
    if (cached == capacity_) {
      const std::int64_t kept = std::max<std::int64_t>(1, context_ / 2);
      pending.assign(text.end() - std::min<std::int64_t>(kept, capacity_), text.end());
      cached = 0;
    }
  }
  return {text.begin() + given, text.end()};
}

}  // namespace weft
