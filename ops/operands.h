// Which operands a use of an op must have.
#pragma once

#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Checks which operands are given (the list may be shorter than the record's) against the record.
/// Throws ArgumentError for one too many and for a missing one that is not optional.
void check_operands(const OpRecord& op, const std::vector<bool>& given);

}  // namespace weft
