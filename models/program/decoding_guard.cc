#include "weft/models/program/decoding_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/program/memory_guard.h"

namespace weft::program {

void check_caches(const TextGenerator& generator, const Graph& graph,
                  const std::vector<TokenIds>& prompts, const WriteOptions& write,
                  std::string_view remedy) {
  CacheSizes sizes;
  for (const TokenIds& prompt : prompts) {
    const GenerationOptions options = generator.options_for(prompt, write);
    // The ids that a decoder generates follow the prompt in the cache; an encoder-decoder has a
    // separate cache for them.
    const std::int64_t front = generator.continues()
                                   ? std::ssize(prompt)
                                   : std::max<std::int64_t>(1, std::ssize(generator.start()));
    const std::int64_t length = length_rules(options, front).max;
    const std::int64_t kept = options.slide ? std::min(length, generator.context()) : length;
    const std::int64_t together = std::min(std::ssize(prompts), write.batch);
    sizes.rows = static_cast<double>(together) * static_cast<double>(rows_per_prompt(options));
    sizes.moved = sizes.moved || options.beams > 1;
    sizes.capacity = std::max(sizes.capacity, static_cast<double>(kept));
    sizes.source = std::max(sizes.source,
                            static_cast<double>(std::min(std::ssize(prompt), generator.context())));
  }
  check_memory(
      fmt::format("the key/value cache for {:.0f} rows of {:.0f} ids", sizes.rows, sizes.capacity),
      cache_bytes(graph, sizes), remedy);
}

}  // namespace weft::program
