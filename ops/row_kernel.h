// Row kernels: an elementwise op on a row of contiguous elements, with op, dtypes and attributes
// resolved to one function for the current CPU. The op's own kernel and every fused kernel call the
// same function, so that fusion never changes a bit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/ops/attribute.h"
#include "weft/ops/record_function.h"

namespace WEFT_API weft {

/// The dtypes, scalars and attributes for which a row kernel is made.
struct RowRequest {
  std::vector<DType> inputs;
  DType output = DType::f32;
  /// Bit i is set if operand i is a single element for the whole row. At least one operand is not a
  /// scalar.
  std::uint32_t scalars = 0;
  const Attributes& attributes;  // with defaults, see OpRecord::complete

  /// Returns true if operand `i` is one number for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

/// An elementwise op for given dtypes, scalars and attributes. Immutable and cheap to copy. The
/// bits of an element never depend on where its row begins or ends.
struct RowKernel {
  /// Writes `n` >= 1 elements to `out`, reading n elements of every operand (one of a scalar).
  /// `position` is the index of the row's first element in the whole result; only random ops use
  /// it. `out` may be a non-scalar operand if OpRecord::inplace allows it.
  using Function = void (*)(const RowKernel& self, const void* const* in, void* out, std::int64_t n,
                            std::int64_t position);

  Function function = nullptr;  // null: the op cannot run row by row for these dtypes
  std::uint32_t scalars = 0;    // as in the request
  std::array<double, 2> reals = {};
  std::array<std::int64_t, 2> integers = {};
  /// The formula of a custom op with its captures.
  std::shared_ptr<const void> captured = {};
  /// Approximate cost on one core. For exact ops it is below the cost of the memory accesses.
  double ns_per_element = 0;

  explicit operator bool() const { return function != nullptr; }
  void operator()(const void* const* in, void* out, std::int64_t n, std::int64_t position) const {
    function(*this, in, out, n, position);
  }
  /// Returns true if operand `i` is one number for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

using RowRule = RecordFunction<RowKernel(const RowRequest&)>;

}  // namespace weft
