// Creates the kernel of a record and checks its data. Used by Sessions, constant folding and tests,
// which therefore behave identically.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns the kernel of `op` for `request`. A kernel that has nothing to write keeps its check but
/// has no phases, scratch or packed input, because the other sizes may be arbitrarily large if an
/// axis has size 0.
Kernel make_kernel(const OpRecord& op, const KernelRequest& request);

/// Returns the value of the attribute `precision`. If it is missing or empty, returns `otherwise`,
/// which is the precision of the program.
Precision precision_for(const Attributes& attributes, Precision otherwise);

/// Like evaluate_op(), but sets KernelRequest::precision to `precision` regardless of the
/// attributes.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes, Precision precision);

/// Runs kernel.check if it is not empty. As documented there, the check receives the `pointers` of
/// operands with an integer dtype in `dtypes`, and null pointers for all other operands.
void check_data(const Kernel& kernel, const std::vector<DType>& dtypes,
                const void* const* pointers);

}  // namespace weft
