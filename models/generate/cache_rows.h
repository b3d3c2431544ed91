// Reorders and copies cache rows.
#pragma once

#include "weft/core/tensor.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Returns a program that replaces row r by row cache_rows[r] in every cache that `decode` updates.
/// Its input "cache_rows" is i64 [rows].
Program make_reorder_program(const Program& decode);

/// Returns a program that copies row copy_from[i] to row copy_to[i] in every cache that `decode`
/// updates, in place. Its inputs are i64 [copies].
Program make_copy_program(const Program& decode);

/// Returns true if any row continues a different row of the previous step. `parents` is i64 [rows].
/// It is usually false; the caches then need not be copied.
bool reorders_rows(const Tensor& parents);

}  // namespace weft
