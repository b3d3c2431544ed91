#include "weft/models/layers/attention/merged_attention.h"

#include <limits>

#include "weft/graph/functions.h"

namespace weft {

Value merged_attention(const AttentionResult& a, const AttentionResult& b) {
  // A set without visible keys has the log-sum-exp -inf. A finite number in its place gives it the
  // share 0, or 1/2 of a zero output if the other set has no visible keys either.
  const auto finite = [](const Value& lse) {
    return where(not_equal(lse, -std::numeric_limits<double>::infinity()), lse, -1e30);
  };
  const Value share = unsqueeze(sigmoid(finite(a.lse) - finite(b.lse)), 3);
  return b.out + share * (a.out - b.out);
}

}  // namespace weft
