// Comparison of a program with reference definitions of its operations, in plain scalar loops.
#pragma once

#include "weft/graph/run/session.h"
#include "weft/testing/outcome.h"
#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// First compares every node with the definition of its op in long double, for the operands that
/// occur in this program. Each kernel must be as accurate as its op promises at the program's
/// precision; random numbers are compared, too. A custom op is compared with its `definition` in
/// double, or accepted as it is if it has none. The bodies of calls, loops and branches are
/// evaluated step by step. The message names the first node that differs: op, line, element, both
/// numbers, and the step of each enclosing loop.
///
/// Then compares the outputs and the updated variables of the first run of a Session with the
/// results of the nodes, within `tolerance` plus the effect of rounding errors at the program's
/// precision. That effect is estimated by a few evaluations in which every result is perturbed by
/// its rounding error; integers that such a perturbation changes are not compared. A difference
/// that only this part finds is caused by fusion, by memory planning or by kernels that overwrite
/// an operand which they still read; the message lists the kernels that write in place. A program
/// at a lower precision is also run at the highest one, at which rounding errors cannot hide
/// mistakes.
///
/// Takes thousands of times as long as a run, so use small sizes.
Outcome expect_reference(Graph& graph, const Program& program, const RunSetup& setup = {},
                         const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

}  // namespace testing
}  // namespace weft
