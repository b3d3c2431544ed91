// Parsed subscripts of an einsum equation. Internal to einsum(), which is declared in linalg.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/shape.h"

namespace WEFT_API weft {
namespace einsum_detail {

/// One label per axis: a letter, or ellipsis_label(i) for the i-th axis from the right, counted
/// from 0, among the axes that "..." represents.
using Labels = std::vector<int>;
constexpr int ellipsis_label(int from_right) { return 1000 + from_right; }
/// Returns the name of a label for messages: "i", or "axis -1 of ..." for the last axis of "...".
std::string label_name(int label);

struct Subscripts {
  std::vector<Labels> operands;
  Labels output;
};

/// Parses the equation for operands of these shapes. Throws ArgumentError if it is ill-formed, and
/// ShapeError if the number of axes of an operand does not match its subscripts.
Subscripts parse_equation(std::string_view equation, const std::vector<Shape>& shapes);

}  // namespace einsum_detail
}  // namespace weft
