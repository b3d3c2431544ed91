// Elements for the operands of a variation.
#pragma once

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

/// Replaces the elements of all inputs of `sample`. Tame values keep the ranges of `original`, the
/// sample it was made of, or of another of `samples` where that has no elements. Integers that the
/// op's own check refuses are drawn again, mostly, so that most variations run.
void draw_values(const OpRecord& op, const OpSample& original, const std::vector<OpSample>& samples,
                 OpSample& sample, Draw& draw, Values values);

}  // namespace weft::testing
