// Compares a program with reference definitions of its operations, which are plain scalar loops.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/testing/outcome.h"
#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// First compares every node with the definition of its op in long double, for the operands that
/// occur in this program. Each kernel must be as accurate as its op promises at the program's
/// precision. Random numbers are compared, too. A custom op is compared with its `definition` in
/// double; if it has no definition, its results are not checked. The bodies of calls, loops and
/// branches are evaluated step by step. The failure message describes the first node that differs:
/// op, source line, element, both numbers, and the step of each enclosing loop.
///
/// Then runs the program once in a Session and compares its outputs and updated variables with the
/// results of the nodes, within `tolerance` plus the effect of rounding errors at the program's
/// precision. That effect is estimated by a few evaluations in which every result is perturbed by
/// its rounding error; integers that change under such a perturbation are not compared. If only
/// this second comparison fails, the cause is fusion, memory planning or a kernel that overwrites
/// an operand before it has finished reading it; the failure message lists the kernels that write
/// in place. A program at a lower precision is also run at the highest precision, at which rounding
/// errors cannot hide mistakes.
///
/// Takes thousands of times as long as a normal run, so use small sizes.
Outcome check_reference(Graph& graph, const Program& program, const RunSetup& setup = {},
                        const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

}  // namespace testing
}  // namespace weft
