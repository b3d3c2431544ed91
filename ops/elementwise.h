// Helpers shared by the records of the elementwise families (unary, binary, cast).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/ops/op.h"

namespace weft::elementwise {

/// Returns fixed pseudo-random f32 values in [low, high] that are at least 0.1 away from every
/// multiple of 0.5. Finite differences are accurate at these values, because no elementwise op has
/// a kink, pole or rounding boundary nearby. If `side` is -1 or +1, all values are in the lower or
/// upper part of the interval between two multiples, so that values of two operands with different
/// sides are never close to each other.
Tensor sample_values(Sizes sizes, double low, double high, std::uint32_t seed, int side = 0);

/// Returns a kernel with one phase over `numel` elements, divided into chunks of at least 16384
/// elements. The bits that `body(run, begin, end)` computes for an element must not depend on where
/// chunks begin.
Kernel make_kernel(std::int64_t numel, double ns_per_element,
                   std::function<void(const KernelRun&, std::int64_t, std::int64_t)> body);

/// Returns the kernel of an op that has a row kernel, with inputs broadcast to output 0.
Kernel make_row_kernel(const KernelRequest& request, const RowRule& row);
/// Sets the row kernel of the record and the kernel that runs it.
void set_row(OpRecord& record, RowRule row);

/// Throws DTypeError unless operand i is f32, f64 or an integer.
void require_number(const InferContext& context, int i, std::string_view what);

/// Returns the address of element `index` of an operand.
inline const void* at(const void* base, std::int64_t index, std::size_t element_size) {
  return static_cast<const std::byte*>(base) + static_cast<std::size_t>(index) * element_size;
}
inline void* at(void* base, std::int64_t index, std::size_t element_size) {
  return static_cast<std::byte*>(base) + static_cast<std::size_t>(index) * element_size;
}

}  // namespace weft::elementwise
