// How functions take axes.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// One axis, a list of axes, or all of them. Negative axes count from the end. `{}` and
/// std::nullopt mean all axes; an empty vector means none.
class Axes {
 public:
  Axes() = default;
  Axes(std::nullopt_t) {}                                  // NOLINT
  Axes(int axis) : axes_(std::vector<int>{axis}) {}        // NOLINT
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   // NOLINT
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT

  bool all() const { return !axes_.has_value(); }
  /// 0 <= axis < rank, ascending. Throws ShapeError for an axis out of range, ArgumentError for one
  /// given twice.
  std::vector<std::int64_t> resolve(int rank) const;

 private:
  std::optional<std::vector<int>> axes_;
};

/// axes.resolve(x.rank()); errors name `function`, the operand and the user's line.
std::vector<std::int64_t> resolve_axes(const Axes& axes, Value x, std::string_view function,
                                       SourceLocation loc);
/// The same for one axis of x.
int resolve_axis(int axis, Value x, std::string_view function, SourceLocation loc);
/// The same for an axis of a result that will have `rank` axes; operands are `xs`.
int resolve_axis(int axis, int rank, Graph& graph, const std::vector<Value>& xs,
                 std::string_view function, SourceLocation loc);

}  // namespace weft
