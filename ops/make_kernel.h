// Makes the kernel of a record and checks its data, in the same way for Sessions, constant folding
// and tests.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns the kernel of `op` for `request`. A kernel that has nothing to write keeps its check but
/// has no phases, scratch or packed input, because the sizes next to an axis of size 0 may be
/// arbitrarily large.
Kernel make_kernel(const OpRecord& op, const KernelRequest& request);

/// Returns the attribute `precision` if it exists and is not empty, else `otherwise`, the precision
/// of the program.
Precision precision_for(const Attributes& attributes, Precision otherwise);

/// evaluate_op() with KernelRequest::precision set to `precision`, regardless of the attributes.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes, Precision precision);

/// Runs kernel.check, if there is one. The check receives only what its contract promises: the
/// `pointers` of operands with an integer dtype in `dtypes`, and null for all others.
void check_data(const Kernel& kernel, const std::vector<DType>& dtypes,
                const void* const* pointers);

}  // namespace weft
