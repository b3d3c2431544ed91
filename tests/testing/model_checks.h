// Mistakes in models that run, learn something, and are wrong.
#pragma once

#include <string>
#include <string_view>

#include "weft/testing/run_checks.h"

namespace WEFT_API weft {
namespace testing {

/// One run of a training program changes every trainable parameter and every buffer of the graph: a
/// parameter that the loss does not see, or an update (of running statistics, say) that was
/// forgotten, is named, with the line that declares it. `but` lists variables that may stay.
Outcome expect_state_changes(Graph& graph, const Program& program, const RunSetup& setup,
                             const std::vector<std::string>& but = {});

/// The program computes each example of a batch as if it were alone: the symbol `batch` is axis 0
/// of its inputs, and for the rows of the feeds, one at a time, in pairs and all together, outputs
/// with that axis have the same rows, scalars (losses) are the mean of the rows'. Finds what mixes
/// examples, what works for one size only, and losses that are sums; the message names the first
/// node whose rows are mixed, and its line. The program must not draw, and statistics over the
/// batch are what it finds, too: give it the program that evaluates.
Outcome check_rows(Graph& graph, const Program& program, const RunSetup& setup,
                   std::string_view batch = "batch",
                   const Tolerance& tolerance = {.absolute = 1e-5, .relative = 1e-4});

/// Output `output` at place t of axis 1 depends on places 0 to t of the axis 1 of input `input`
/// alone: the places behind t get other values (those of the input in reverse order), and what
/// comes before stays the same to the bit. The message names the first node that sees them (where
/// the size of that axis is a symbol, which only one axis of the node has).
Outcome expect_causal(Graph& graph, const Program& program, const RunSetup& setup,
                      const std::string& input, const std::string& output);

/// All outputs are finite where all floating feeds are 0, and where they are as they are given. The
/// message names the node that first made a NaN or an infinity, and its line.
Outcome expect_finite(Graph& graph, const Program& program, const RunSetup& setup);

}  // namespace testing
}  // namespace weft
