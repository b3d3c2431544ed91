// Quantised matrices as operands of ops: operand checks and access from kernels.
#pragma once

#include <optional>

#include "weft/ops/kernels/quantized/quantized.h"
#include "weft/ops/op.h"
#include "weft/ops/quantized/quantized.h"

namespace weft {

/// The first sentence of the documentation of ops with quantised operands.
inline constexpr const char* kQuantizedLayout =
    "q and scale hold a matrix [inputs, outputs] in the layout defined in "
    "ops/quantized/quantized.h: int8 with one scale per output, or int4 or q8_0 (8 bits) with one "
    "scale per output and 32 inputs. ";

/// For shape rules: checks that the inputs `q` and `scale` hold a matrix [inputs, outputs] that can
/// be used as dtype `result`, or, if `stack` is present, that many matrices on an additional first
/// axis.
void check_quantized(const InferContext& c, int q, int scale, std::int64_t inputs,
                     std::int64_t outputs, DType result, std::optional<std::int64_t> stack = {});
/// As above, for the levels of an int8 matrix that is used without its scales.
void check_levels(const InferContext& c, int q, std::int64_t inputs, std::int64_t outputs);
/// Returns the number of matrices in input `q` if it has the axes of a stack of matrices.
std::optional<std::int64_t> quantized_stack(const InferContext& c, int q);

/// The quantised operands of a kernel. They are not yet bound to memory.
struct QuantizedOperands {
  int q = 0, scale = 1;
  bool int4 = false, q8_0 = false;
  DType scale_dtype = DType::f32;
  std::int64_t inputs = 0, outputs = 0;
  std::int64_t stack = 1;                    // number of matrices
  std::size_t q_bytes = 0, scale_bytes = 0;  // of one matrix

  /// Returns true if W is a matrix of integers of 8 bits, times one scale per column.
  bool has_column_scales() const { return scale_dtype != DType::f16; }
  std::int64_t panels() const { return (outputs + kQuantizedPanel - 1) / kQuantizedPanel; }
  std::int64_t groups() const { return (inputs + kQuantizedGroup - 1) / kQuantizedGroup; }
  std::int64_t panel_bytes() const {
    return int4 ? groups() * kQuantizedPanel * (kQuantizedGroup / 2 + 2)
                : (inputs + 3) / 4 * 4 * kQuantizedPanel +
                      (q8_0 ? groups() * kQuantizedPanel * 2 : 0);
  }
  kernels::QuantizedWeights at(const KernelRun& run, std::int64_t matrix = 0) const {
    const auto offset = static_cast<std::size_t>(matrix);
    return {static_cast<const std::byte*>(run.inputs[q]) + offset * q_bytes,
            static_cast<const std::byte*>(run.inputs[scale]) + offset * scale_bytes,
            int4,
            inputs,
            outputs,
            q8_0};
  }
  /// Returns W[i][j] as a double, for kernels that compute in double.
  double weight(const KernelRun& run, std::int64_t i, std::int64_t j,
                std::int64_t matrix = 0) const;
};

/// Returns the quantised matrix or stack of matrices in inputs q and q + 1 of a request.
QuantizedOperands quantized_operands(const KernelRequest& r, int q, std::int64_t inputs,
                                     std::int64_t outputs);

}  // namespace weft
