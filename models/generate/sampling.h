// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>

namespace weft {

struct SamplingOptions {
  bool greedy = false;       // always the most likely token (the first of equals)
  double temperature = 1.0;  // logits are divided by it; > 0
  std::int64_t top_k = 0;    // only the k most likely tokens; 0 = all
  double top_p = 1.0;        // only the fewest most likely tokens that hold this much probability
  std::uint64_t seed = 1;

  /// Throws ArgumentError naming the option, its value and what is allowed.
  void check() const;
};

/// The next token for one row of logits. The draw is a function of (seed, row, index) alone,
/// `index` counting the tokens of the row. Filters apply in the order temperature, top_k, top_p
/// (Holtzman et al. 2020). Throws DataError where the logits are not numbers.
std::int32_t sample_token(std::span<const float> logits, const SamplingOptions& options,
                          std::int64_t row, std::int64_t index);

}  // namespace weft
