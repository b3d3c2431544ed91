// The subscripts of an einsum equation, for einsum() in linalg.h (which says what it costs).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/shape.h"

namespace WEFT_API weft {
namespace einsum_detail {

/// One label per axis: a letter, or ellipsis_label(i) for the axis that is i-th from the right
/// (from 0) among those that "..." stands for.
using Labels = std::vector<int>;
constexpr int ellipsis_label(int from_right) { return 1000 + from_right; }
/// "i", or "axis -1 of ..." for the last axis that "..." stands for.
std::string label_name(int label);

struct Subscripts {
  std::vector<Labels> operands;
  Labels output;
};

/// Reads the equation for operands of these ranks. Throws ArgumentError where it is ill-formed and
/// ShapeError where an operand has other axes than its subscripts.
Subscripts parse_equation(std::string_view equation, const std::vector<Shape>& shapes);

}  // namespace einsum_detail
}  // namespace weft
