// Draws elements for the operands of a varied sample.
#pragma once

#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

/// Replaces the elements of all inputs of `sample`. Typical values are in the range of `original`,
/// the sample that was varied, or in the range of another one of `samples` if `original` has no
/// elements. Integers that the op's data check rejects are usually drawn again, so that most
/// variations run.
void draw_values(const OpRecord& op, const OpSample& original, const std::vector<OpSample>& samples,
                 OpSample& sample, Draw& draw, Values values);

}  // namespace weft::testing
