// A program beside its definition: every node computed in plain loops over single numbers.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/testing/outcome.h"
#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// Each node's kernel gives, for the operands that it meets in this program, what the definition of
/// its op gives in long double, to the accuracy that the op promises. The message names the first
/// node that does not: op, line, element and both numbers. Nodes of ops without a definition here
/// (those of your own) are taken as their kernels compute them; so are draws. Then a Session's
/// first run gives the same outputs, up to `tolerance`: what differs there alone comes of fusion,
/// of memory or of kernels that write over an operand which they still read; the message lists
/// those.
Outcome expect_reference(Graph& graph, const Program& program, const RunSetup& setup = {},
                         const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

}  // namespace testing
}  // namespace weft
