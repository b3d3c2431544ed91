// Row kernels: what an elementwise op does to a row of contiguous elements, with op, dtypes and
// attributes resolved to one function of the running CPU. The op's own kernel and every fused
// kernel call the same function, so that fusing never changes a bit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/ops/attribute.h"
#include "weft/ops/record_function.h"

namespace WEFT_API weft {

/// What a row kernel is asked to be made for.
struct RowRequest {
  std::vector<DType> inputs;
  DType output = DType::f32;
  /// Bit i: operand i is one element that serves the whole row. At most all operands but one.
  std::uint32_t scalars = 0;
  const Attributes& attributes;  // complete

  /// Whether operand `i` is one number for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

/// Immutable and cheap to copy. An element's bits never depend on where its row begins or ends.
struct RowKernel {
  /// Writes `n` >= 1 elements to `out`, reading n elements (or one) of every operand. `position` is
  /// the index of the row's first element in the whole result: only draws look at it. `out` may be
  /// an operand that is not a scalar where OpRecord::inplace says so.
  using Function = void (*)(const RowKernel& self, const void* const* in, void* out, std::int64_t n,
                            std::int64_t position);

  Function function = nullptr;  // null: the op cannot run row by row for these dtypes
  std::uint32_t scalars = 0;    // as in the request
  std::array<double, 2> reals = {};
  std::array<std::int64_t, 2> integers = {};
  std::shared_ptr<const void> captured = {};  // what a function of a user's needs besides
  double ns_per_element = 0;  // on one core, roughly; less than what memory takes for exact ops

  explicit operator bool() const { return function != nullptr; }
  void operator()(const void* const* in, void* out, std::int64_t n, std::int64_t position) const {
    function(*this, in, out, n, position);
  }
  /// Whether operand `i` is one number for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

using RowRule = RecordFunction<RowKernel(const RowRequest&)>;

}  // namespace weft
