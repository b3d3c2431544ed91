// What the records of the elementwise families (unary, binary, cast) share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/ops/op.h"

namespace weft::elementwise {

/// Fixed pseudo-random f32 values in [low, high] that keep at least 0.1 away from every multiple of
/// one half: no kink, pole or rounding boundary of an elementwise op is near, so that finite
/// differences work. `side` -1 or +1 keeps to the lower or upper part between two multiples: values
/// of two operands with different sides are never close to each other.
Tensor sample_values(Sizes sizes, double low, double high, std::uint32_t seed, int side = 0);

/// A kernel of one phase over `numel` elements in pieces of at least 16384; `body(run, begin, end)`
/// must give every element the same bits wherever pieces begin.
Kernel make_kernel(std::int64_t numel, double ns_per_element,
                   std::function<void(const KernelRun&, std::int64_t, std::int64_t)> body);

/// The kernel of an op that has a row kernel: its inputs broadcast to output 0. For
/// OpRecord::kernel.
template <RowKernel (*row)(const RowRequest&)>
Kernel kernel(const KernelRequest& request);
/// The same for `row` as a value.
Kernel make_row_kernel(const KernelRequest& request, const RowRule& row);

/// Throws DTypeError unless operand i is f32, f64 or an integer.
void require_number(const InferContext& context, int i, std::string_view what);

/// Address of element `index` of an operand.
inline const void* at(const void* base, std::int64_t index, std::size_t element_size) {
  return static_cast<const std::byte*>(base) + static_cast<std::size_t>(index) * element_size;
}
inline void* at(void* base, std::int64_t index, std::size_t element_size) {
  return static_cast<std::byte*>(base) + static_cast<std::size_t>(index) * element_size;
}

template <RowKernel (*row)(const RowRequest&)>
Kernel kernel(const KernelRequest& request) {
  return make_row_kernel(request, row);
}

}  // namespace weft::elementwise
