#include "weft/graph/functions/recurrence.h"

#include "weft/graph/functions/axes.h"

namespace weft {

Value linear_recurrence(Arg a, Arg b, int axis, const RecurrenceOptions& options) {
  const ArgPair pair = resolve_pair(a, b, "linear_recurrence");
  const std::int64_t at = resolve_axis(axis, pair.a, "linear_recurrence", pair.loc);
  return pair.a.graph()
      .apply("linear_recurrence", {pair.a, pair.b}, {{"axis", at}, {"reverse", options.reverse}},
             pair.loc)
      .output(0);
}

}  // namespace weft
