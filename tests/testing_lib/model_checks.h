// Checks for mistakes in models that run, and even learn, but compute the wrong result.
#pragma once

#include <string>
#include <string_view>

#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// Checks that one run of a training program changes every trainable parameter and every buffer of
/// the graph. The failure message names each variable that did not change and the line that
/// declares it. Examples are a parameter on which the loss does not depend, and running statistics
/// that are never updated. Variables in `except` may stay unchanged.
Outcome check_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
                            const std::vector<std::string>& except = {});

/// Checks that the program treats the examples of a batch independently of each other. The symbol
/// `batch` must be the size of axis 0 of the inputs. The program is run on the whole batch in
/// `setup.feeds`, on each single row and on disjoint pairs of adjacent rows. Outputs with a batch
/// axis must have the same rows in all runs. Floating-point scalar outputs (losses) must equal
/// their mean over the smaller batches.
///
/// Finds programs that mix examples, programs that work for only one batch size, and losses that
/// are sums. The failure message names the first node that mixes rows and its source line. The
/// program must not draw random numbers. Batch statistics also mix rows, so pass the evaluation
/// program.
Outcome check_rows(Graph& graph, const Program& program, const RunSetup& setup,
                   std::string_view batch = "batch",
                   const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

/// Checks that a batch-invariant program keeps its promise (Program::batch_invariant(), which is
/// set for the check): the program is run on the whole batch in `setup.feeds` with 1 and 2 threads,
/// and on its first and its last rows in batches of every size from 1. Outputs with a batch axis
/// must have the same bits in all runs. The symbol `batch` must be the size of axis 0 of the
/// inputs. Padding is not changed. The failure message names the first node that mixes rows, if the
/// program does.
Outcome check_batch_invariance(Graph& graph, const Program& program, const RunSetup& setup,
                               std::string_view batch = "batch");

/// Checks that `output` at position t of axis 1 depends only on positions 0 to t of `input` along
/// axis 1. For every t, the input positions after t are reversed, and positions 0 to t of the
/// output must keep their bits. If the size of the axis is a symbol, the failure message names the
/// first node that depends on later positions. Nodes with several axes of that size are skipped in
/// this search.
Outcome check_causal(Graph& graph, const Program& program, const RunSetup& setup,
                     const std::string& input, const std::string& output);

/// Checks that a run produces no infinities and no NaNs, both with the given feeds and with all
/// floating-point feeds set to 0. The failure message names the node that produced the first such
/// value, and its source line.
Outcome check_finite(Graph& graph, const Program& program, const RunSetup& setup);

}  // namespace testing
}  // namespace weft
