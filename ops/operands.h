// The number and the size of the operands of an op.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Checks the given operands against the record of the op. `given[i]` is true if operand i is
/// present; absent operands at the end may be omitted. Throws ArgumentError if there are too many
/// operands or if a required operand is missing.
void check_operands(const OpRecord& op, const std::vector<bool>& given);

/// Returns the number of bytes that are read or written if each operand and result is accessed
/// once.
double operand_bytes(const KernelRequest& request);

}  // namespace weft
