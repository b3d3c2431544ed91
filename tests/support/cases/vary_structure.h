// Variations of a sample that do not concern sizes: ranks, broadcasting, one tensor for two
// operands, and calls that are invalid for every op.
#pragma once

#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

/// Adds one axis to all or some of the inputs, or removes one. Attributes that refer to axes are
/// adapted in some cases. The shape rule may reject the result.
void vary_rank(OpSample& sample, Draw& draw);

/// Sets the size of one axis of one input to 1, which may broadcast. The shape rule may reject the
/// result.
void vary_broadcasting(OpSample& sample, Draw& draw);

/// In some cases, replaces several inputs of the same type by a single tensor.
void share_operands(OpSample& sample, Draw& draw);

/// Makes the call invalid for every op: one operand too many or too few, an unknown attribute, or
/// an attribute of the wrong type.
void break_structure(const OpRecord& op, OpSample& sample, Draw& draw);

}  // namespace weft::testing
