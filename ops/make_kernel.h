// How a record's kernel is made and its data checked: one way for Sessions, constant folding and
// tests.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// The kernel of `op` for `request`. A kernel that has nothing to write keeps its check and loses
/// phases, scratch and packed input: sizes beside an axis of size 0 may be as large as they like.
Kernel make_kernel(const OpRecord& op, const KernelRequest& request);

/// What an op's attribute `precision` says, if it has one that is not empty, else `otherwise`: the
/// program's.
Precision precision_for(const Attributes& attributes, Precision otherwise);

/// evaluate_op() at KernelRequest::precision `precision`, whatever the attributes say.
std::vector<Tensor> evaluate_op(const OpRecord& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes, Precision precision);

/// Runs kernel.check, if there is one. It gets what its contract promises and no more: `pointers`
/// of the operands whose entry in `dtypes` is an integer's, null for all others.
void check_data(const Kernel& kernel, const std::vector<DType>& dtypes,
                const void* const* pointers);

}  // namespace weft
