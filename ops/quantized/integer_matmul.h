// The records of integer matrix products, which belong to the family IntegerOps.
#pragma once

namespace weft {

class OpSet;

/// Adds integer_matmul and integer_matmul_fused.
void add_integer_matmul(OpSet& ops);

}  // namespace weft
