// matmul_fused: a matrix product with elementwise steps on its result.
#pragma once

#include <optional>

#include "weft/ops/op.h"

namespace weft {

/// How an operand of the steps lies over the product.
enum class EpilogueOperand : std::uint8_t {
  dense,   // of the same shape
  row,     // one element for each column: a bias
  scalar,  // one element
};

/// For an operand of shape `operand` over a product of shape `product`; none if it lies otherwise,
/// which steps on tiles cannot follow. `equal` compares dims.
template <class Equal>
std::optional<EpilogueOperand> epilogue_operand(const Shape& operand, const Shape& product,
                                                const Equal& equal) {
  const auto is_one = [](const Dim& d) { return d == Dim(1); };
  if (operand.rank() == product.rank()) {
    bool same = true;
    for (int i = 0; i < product.rank(); ++i) same = same && equal(operand[i], product[i]);
    if (same) return EpilogueOperand::dense;
  }
  if (operand.rank() > product.rank()) return std::nullopt;
  for (int i = 0; i + 1 < operand.rank(); ++i) {
    if (!is_one(operand[i])) return std::nullopt;
  }
  if (operand.rank() == 0 || is_one(operand[operand.rank() - 1])) return EpilogueOperand::scalar;
  const bool row = equal(operand[operand.rank() - 1], product[product.rank() - 1]);
  return row ? std::optional(EpilogueOperand::row) : std::nullopt;
}

}  // namespace weft
