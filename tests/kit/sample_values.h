// Elements for the operands of a variation.
#pragma once

#include "weft/tests/kit/vary_sample.h"

namespace weft::testing {

/// Replaces the elements of all inputs of `sample`. `original` is the sample it was made of, whose
/// ranges tame values keep. Integers that the op's own check refuses are drawn again, mostly, so
/// that most variations run.
void draw_values(const OpRecord& op, const OpSample& original, OpSample& sample, Draw& draw,
                 Values values);

}  // namespace weft::testing
