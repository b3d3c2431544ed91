// Variations of a sample other than sizes: ranks, broadcasting, one tensor for two operands, and
// calls that are invalid for every op.
#pragma once

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// Adds or removes one axis of all inputs or of some. Attributes that refer to axes are adapted, or
/// not. The shape rule may reject the result.
void vary_rank(OpSample& sample, Draw& draw);

/// Sets an axis of one input to size 1, which may broadcast. The shape rule may reject the result.
void vary_broadcasting(OpSample& sample, Draw& draw);

/// Sometimes replaces inputs of the same type by a single tensor.
void share_operands(OpSample& sample, Draw& draw);

/// Makes the call invalid for every op: an operand too many or too few, an unknown attribute, or an
/// attribute of the wrong type.
void break_structure(const OpRecord& op, OpSample& sample, Draw& draw);

}  // namespace weft::testing
