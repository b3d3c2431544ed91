// Checks the operands of an op for missing and surplus ones.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Checks the operands of a use of `op` against its record: `given[i]` is true if operand i is
/// present; trailing absent operands may be omitted. Throws ArgumentError if there are too many
/// operands or if a required one is missing.
void check_operands(const OpRecord& op, const std::vector<bool>& given);

}  // namespace weft
