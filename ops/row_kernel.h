// Row kernels. A row kernel applies an elementwise op to a row of contiguous elements; op, dtypes
// and attributes are resolved to a single function for the current CPU. The op's own kernel and all
// fused kernels call the same function, so fusion never changes the bits of a result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/core/dtype.h"
#include "weft/ops/attribute.h"
#include "weft/ops/record_function.h"

namespace WEFT_API weft {

/// The dtypes, scalars and attributes for which a row kernel is created.
struct RowRequest {
  std::vector<DType> inputs;
  DType output = DType::f32;
  /// Bit i is set if operand i is a single element for the whole row. At least one operand is not a
  /// scalar.
  std::uint32_t scalars = 0;
  const Attributes& attributes;  // with defaults, see OpRecord::complete

  /// Returns true if operand `i` is a single element for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

/// A row kernel for particular dtypes, scalars and attributes. Immutable and cheap to copy. The
/// bits of an element never depend on where its row begins or ends.
struct RowKernel {
  /// Writes `n` >= 1 elements to `out`. Reads n elements of every operand, or one element of a
  /// scalar operand. `position` is the index of the row's first element in the whole result; only
  /// random ops use this index. `out` may be a non-scalar operand if OpRecord::inplace allows it.
  using Function = void (*)(const RowKernel& self, const void* const* in, void* out, std::int64_t n,
                            std::int64_t position);

  Function function = nullptr;  // null if the op cannot run row by row for these dtypes
  std::uint32_t scalars = 0;    // as in the request
  std::array<double, 2> reals = {};
  std::array<std::int64_t, 2> integers = {};
  /// The formula of a custom op, including its captures.
  std::shared_ptr<const void> captured = {};
  /// Approximate time on one core. For exact ops, this is less than the cost of the memory
  /// accesses.
  double ns_per_element = 0;

  explicit operator bool() const { return function != nullptr; }
  void operator()(const void* const* in, void* out, std::int64_t n, std::int64_t position) const {
    function(*this, in, out, n, position);
  }
  /// Returns true if operand `i` is a single element for the whole row.
  bool scalar(std::size_t i) const { return (scalars >> i & 1) != 0; }
};

using RowRule = RecordFunction<RowKernel(const RowRequest&)>;

}  // namespace weft
