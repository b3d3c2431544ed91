// Checks for mistakes in models that run and even learn, but compute the wrong thing.
#pragma once

#include <string>
#include <string_view>

#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// Checks that one run of a training program changes every trainable parameter and every buffer of
/// the graph. The message names each variable that did not change and the line that declares it:
/// for example a parameter on which the loss does not depend, or running statistics without an
/// update. Variables in `except` may stay unchanged.
Outcome expect_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
                             const std::vector<std::string>& except = {});

/// Checks that the program treats the examples of a batch independently of each other. The symbol
/// `batch` must be axis 0 of its inputs. The program is run on the whole batch of `setup.feeds`, on
/// each single row and on disjoint pairs of adjacent rows. Outputs with the batch axis must have
/// the same rows every time, and floating-point scalars (losses) must be the mean over the smaller
/// batches. Finds programs that mix examples or work for one batch size only, and losses that are
/// sums. The message names the first node that mixes rows, and its line. The program must not draw
/// random numbers. Batch statistics mix rows, too, so pass the evaluation program.
Outcome check_rows(Graph& graph, const Program& program, const RunSetup& setup,
                   std::string_view batch = "batch",
                   const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

/// Checks that `output` at position t of axis 1 depends only on positions 0 to t of axis 1 of
/// `input`. For every t, the input after position t is replaced (by the same positions in reverse
/// order), and positions 0 to t of the output must keep their bits. The message names the first
/// node that depends on later positions if the size of the axis is a symbol; nodes with several
/// axes of that size are skipped.
Outcome expect_causal(Graph& graph, const Program& program, const RunSetup& setup,
                      const std::string& input, const std::string& output);

/// Checks that a run produces no infinity and no NaN, with the given feeds and with all
/// floating-point feeds set to 0. The message names the node that produced the first one, and its
/// line.
Outcome expect_finite(Graph& graph, const Program& program, const RunSetup& setup);

}  // namespace testing
}  // namespace weft
