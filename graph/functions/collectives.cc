#include "weft/graph/functions/collectives.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value apply(std::string_view op, Arg x, int ranks, Attributes attributes = {}) {
  const Value v = x.value(op);
  attributes.set("ranks", static_cast<std::int64_t>(ranks));
  return v.graph().apply(op, {v}, std::move(attributes), x.location()).output(0);
}

// The ops split and concatenate along the first axis, so any other axis is first moved to the front
// and finally moved back.
Value apply_along(std::string_view op, Arg x, int ranks, int axis) {
  const Value v = x.value(op);
  const Graph::Frame frame(v.graph(), op, x.location());
  const int from = v.rank() == 0 ? 0 : resolve_axis(axis, v, op, x.location());
  if (from == 0) return apply(op, x, ranks);
  return transpose(apply(op, transpose(v, 0, from), ranks), 0, from);
}

}  // namespace

Value all_reduce(Arg x, int ranks) { return apply("all_reduce", x, ranks); }
Value all_gather(Arg x, int ranks, int axis) { return apply_along("all_gather", x, ranks, axis); }
Value reduce_scatter(Arg x, int ranks, int axis) {
  return apply_along("reduce_scatter", x, ranks, axis);
}
Value all_to_all(Arg x, int ranks, int axis) { return apply_along("all_to_all", x, ranks, axis); }

Value broadcast_from(Arg x, int ranks, int root) {
  return apply("broadcast_from", x, ranks, {{"root", static_cast<std::int64_t>(root)}});
}

Value send_recv(Arg x, int ranks, const std::vector<SendRecv>& pairs) {
  std::vector<std::int64_t> from, to;
  for (const SendRecv& pair : pairs) {
    from.push_back(pair.from);
    to.push_back(pair.to);
  }
  return apply("send_recv", x, ranks, {{"from", std::move(from)}, {"to", std::move(to)}});
}

Value rank_number(Graph& graph, int ranks, SourceLocation loc) {
  return graph.apply("rank_number", {}, {{"ranks", static_cast<std::int64_t>(ranks)}}, loc)
      .output(0);
}

}  // namespace weft
