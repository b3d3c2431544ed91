// Axes: the parameter type of functions that take one or several axes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// One axis, a list of axes, or all axes. Negative axes count from the end. `{}` and std::nullopt
/// mean all axes; an empty vector means none.
class Axes {
 public:
  Axes() = default;
  Axes(std::nullopt_t) {}                                  // NOLINT
  Axes(int axis) : axes_(std::vector<int>{axis}) {}        // NOLINT
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   // NOLINT
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT

  bool all() const { return !axes_.has_value(); }
  /// Returns the axes in ascending order, with 0 <= axis < rank. Throws ShapeError for an axis out
  /// of range and ArgumentError for a repeated axis.
  std::vector<std::int64_t> resolve(int rank) const;

 private:
  std::optional<std::vector<int>> axes_;
};

/// Returns axes.resolve(x.rank()). Errors name `function`, the operand and the user's source line.
std::vector<std::int64_t> resolve_axes(const Axes& axes, Value x, std::string_view function,
                                       SourceLocation loc);
/// As above, for one axis of x.
int resolve_axis(int axis, Value x, std::string_view function, SourceLocation loc);
/// As above, for an axis of a result with `rank` axes that is computed from the operands `xs`.
int resolve_axis(int axis, int rank, Graph& graph, const std::vector<Value>& xs,
                 std::string_view function, SourceLocation loc);

}  // namespace weft
