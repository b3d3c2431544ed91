#include "weft/graph/functions/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft {

std::vector<std::int64_t> Axes::resolve(int rank) const {
  std::vector<std::int64_t> out;
  if (all()) {
    out.resize(static_cast<std::size_t>(rank));
    std::iota(out.begin(), out.end(), std::int64_t{0});
    return out;
  }
  for (const int axis : *axes_) out.push_back(normalize_axis(axis, rank));
  std::sort(out.begin(), out.end());
  const auto twice = std::adjacent_find(out.begin(), out.end());
  if (twice != out.end()) throw ArgumentError(fmt::format("axis {} is given twice", *twice));
  return out;
}

std::vector<std::int64_t> resolve_axes(const Axes& axes, Value x, std::string_view function,
                                       SourceLocation loc) {
  try {
    return axes.resolve(x.rank());
  } catch (const Error& error) {
    x.graph().fail(error, function, {x}, loc);
  }
}

int resolve_axis(int axis, Value x, std::string_view function, SourceLocation loc) {
  return resolve_axis(axis, x.rank(), x.graph(), {x}, function, loc);
}

int resolve_axis(int axis, int rank, Graph& graph, const std::vector<Value>& xs,
                 std::string_view function, SourceLocation loc) {
  try {
    return normalize_axis(axis, rank);
  } catch (const Error& error) {
    graph.fail(error, function, xs, loc);
  }
}

}  // namespace weft
