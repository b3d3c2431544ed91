// The sizes of groups of rows as an operand of ops: checks of its type and of its data.
#pragma once

#include <functional>

#include "weft/ops/op.h"

namespace weft {

/// For shape rules: returns the number of groups, the size of input `input`. Throws DTypeError or
/// ShapeError unless it is i32 or i64 with one axis.
Dim group_count(const InferContext& context, int input);

/// Returns a Kernel::check that throws DataError unless the sizes in input `input` are not negative
/// and their sum is at most `rows`.
std::function<void(const KernelRun&)> group_check(const KernelRequest& request, std::size_t input,
                                                  std::int64_t rows);

/// Returns the share of the matrices that a product of `rows` rows reads if every row belongs to a
/// different group, at most 1.
double read_share(double rows, double groups);

}  // namespace weft
