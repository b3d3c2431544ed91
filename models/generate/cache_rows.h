// Moving rows of caches, as beams do.
#pragma once

#include "weft/core/tensor.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// The program that makes row r of every cache which `decode` updates what row cache_rows[r] is;
/// its input "cache_rows" is i64 [rows].
Program make_reorder_program(const Program& decode);

/// Whether any row goes on from another one: `parents` is i64 [rows]. Mostly none does, and copying
/// caches can be left out.
bool rows_move(const Tensor& parents);

}  // namespace weft
