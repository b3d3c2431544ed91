// Variations of a sample beyond its sizes: other ranks, broadcasting, one tensor for two operands,
// and uses that no op takes.
#pragma once

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// One axis more or less, of all inputs or of some; attributes that name axes follow, or do not.
/// The shape rule may refuse the result.
void vary_rank(OpSample& sample, Draw& draw);

/// An axis of one input becomes 1, which may broadcast. The shape rule may refuse the result.
void vary_broadcasting(OpSample& sample, Draw& draw);

/// Inputs of the same type become one tensor, sometimes.
void share_operands(OpSample& sample, Draw& draw);

/// What is an error for every op: an operand too many or too few, an attribute that it does not
/// have or of another type.
void break_structure(const OpRecord& op, OpSample& sample, Draw& draw);

}  // namespace weft::testing
