#include "weft/models/data/formats/reversal.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {

std::vector<TextPair> reversal_pairs(std::int64_t count, std::uint64_t seed,
                                     const ReversalOptions& options) {
  if (options.alphabet.empty()) throw ArgumentError("the alphabet for string reversal is empty");
  if (options.min_length < 1 || options.max_length < options.min_length) {
    throw ArgumentError(fmt::format("lengths must satisfy 1 <= min <= max, but are {} and {}",
                                    options.min_length, options.max_length));
  }
  const std::uint64_t key = stable_hash("weft.data.reversal", seed);
  std::vector<TextPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    const RandomStream stream{key, 0, static_cast<std::uint32_t>(i)};
    const auto draw = [&](std::uint64_t word, std::uint64_t bound) {
      return uniform_below(std::uint64_t{stream.word(word)} << 32, bound);
    };
    const auto lengths = static_cast<std::uint64_t>(options.max_length - options.min_length + 1);
    const std::uint64_t length = static_cast<std::uint64_t>(options.min_length) + draw(0, lengths);
    std::string text;
    for (std::uint64_t c = 1; c <= length; ++c)
      text += options.alphabet[draw(c, options.alphabet.size())];
    pairs.push_back({text, std::string(text.rbegin(), text.rend())});
  }
  return pairs;
}

}  // namespace weft
