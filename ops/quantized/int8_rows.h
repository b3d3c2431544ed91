// pack_int8_rows and unpack_int8_rows: ops for key and value caches that store numbers in 8 bits.
#pragma once

#include "weft/ops/op.h"

namespace weft {

/// Adds the records of both ops.
void add_int8_rows(OpSet& ops);

}  // namespace weft
