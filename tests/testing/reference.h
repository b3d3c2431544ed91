// A program beside its definition: every node computed in plain loops over single numbers.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/testing/outcome.h"
#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// Each node's kernel gives, for the operands that it meets in this program, what the definition of
/// its op gives in long double, to the accuracy that the op promises at the program's precision;
/// draws, too. An op of your own is compared with its `definition`, node by node in double; one
/// without is taken as its kernel computes it. The bodies of calls, loops and branches are gone
/// through step by step. The message names the first node that differs: op, line, element, both
/// numbers, and the step of each loop around it.
///
/// Then the first run of a Session gives the same outputs and leaves the same values in the
/// variables that the program updates, up to `tolerance` and what roundings at the program's
/// precision make of them (nodes are computed a few times with results that are moved so far; of
/// integers that this changes nothing is asked). What differs there alone comes of fusion, of
/// memory or of kernels that write over an operand which they still read; the message lists those.
/// A program at a lower precision is run at the highest one, too, where mistakes cannot hide in
/// roundings.
///
/// Takes thousands of times as long as a run: for small sizes.
Outcome expect_reference(Graph& graph, const Program& program, const RunSetup& setup = {},
                         const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

}  // namespace testing
}  // namespace weft
