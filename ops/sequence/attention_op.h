// Declarations shared by the source files of the attention ops: operand positions and the functions
// in their records.
#pragma once

#include "weft/ops/op.h"

namespace weft::attention_op {

/// Operands of `attention`, in order. In `attention_grad`, the first kGradOperands of them are
/// preceded by g, out and lse and followed by g_lse, sinks and offsets.
enum Operand : int {
  kQ,
  kK,
  kV,
  kBias,
  kMask,
  kOffsetBias,
  kRowBias,
  kRowIndex,
  kColBias,
  kColIndex,
  kLengths,
  kQStart,
  kKey,
  kKvRows,
  kSinks,
  kOffsets,
  kOperands,
};
/// attention_grad has no kv_rows: the gradient rule looks the rows up before it applies the op.
inline constexpr int kGradOperands = kKvRows;
inline constexpr int kGradFirst = 3;                         // g, out, lse
inline constexpr int kGradLse = kGradFirst + kGradOperands;  // g_lse
inline constexpr int kGradSinks = kGradLse + 1;
inline constexpr int kGradOffsets = kGradSinks + 1;

/// Returns the position of an operand of `attention` in its op or, if `gradient` is true, in
/// attention_grad; -1 if that op lacks the operand.
constexpr int position_of(int operand, bool gradient) {
  if (!gradient) return operand;
  if (operand < kGradOperands) return kGradFirst + operand;
  return operand == kSinks ? kGradSinks : operand == kOffsets ? kGradOffsets : -1;
}

std::vector<ValueType> infer(const InferContext& c);
/// The shape rule of attention_narrow, with bf16 keys and values and f32 or bf16 queries.
std::vector<ValueType> infer_narrow(const InferContext& c);
std::vector<ValueType> infer_grad(const InferContext& c);
/// The shape rule of attention_grad_narrow, with bf16 queries, keys, values and outputs.
std::vector<ValueType> infer_grad_narrow(const InferContext& c);
Kernel kernel(const KernelRequest& request);
Kernel grad_kernel(const KernelRequest& request);

}  // namespace weft::attention_op
