// Small ops with known behaviour, for tests of planning and execution.
#pragma once

#include <memory>

#include "weft/ops/op.h"

namespace weft::testing {

/// The built-in ops and the following test ops, for f32 tensors x of any sizes (a and b have equal
/// sizes):
///   t_add(a, b)        a + b, in place over either; 1 chunk per 64 elements
///   t_scale(x; factor) x * factor, in place
///   t_sum(x)           scalar sum in two phases, with shared scratch
///   t_pick(x, index)   x[index] for x [n] and an i64 scalar; checks the index
///   t_fail(x; when)    x; the kernel throws DataError if x[0] == when
///   t_visit(x, visitor) x, of any dtype; calls the std::function<void()> at the address in the i64
///                      scalar `visitor`
///   t_places(x)        counts which of x, shared and slot scratch (which may be empty) have a
///                      non-null address: 3
///   t_overrun(x)       x; writes one byte beyond its output
std::shared_ptr<const OpSet> engine_ops();

}  // namespace weft::testing
