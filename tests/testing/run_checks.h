// Checks that results do not depend on threads, order, memory, files or other Sessions.
#pragma once

#include <cstdint>

#include "weft/graph/run/session.h"
#include "weft/testing/close.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// How a program is run for a check.
struct RunSetup {
  /// Fed to every run.
  NamedTensors feeds = {};
  /// Initial values of variables, if not those of their initialisers and `seed`.
  NamedTensors variables = {};
  std::uint64_t seed = 0;
  /// The number of consecutive runs; the second one sees the updates of the first.
  int runs = 2;
  /// Values of the symbols that are not sizes of inputs.
  DimValues dims = {};
};

/// Sets the variables of a Session to `setup.variables`.
void set_variables(Session& session, const RunSetup& setup);

// Each check runs the program in several Sessions and compares all outputs of all runs, and all
// variables after the last run. The message names the changed condition, the run, the output or
// variable, and the first element that differs.

/// Checks that the program gives the same bits when it is repeated; with 2 and 5 threads; with
/// shuffled and delayed chunks; with freed memory poisoned and buffers guarded; and within a memory
/// budget of three quarters of the arena, or slightly more if no plan needs so little. Without
/// passes, results must be close within `passes`, because fused sums may be rounded differently.
/// This takes eleven Sessions, that is, 22 runs of the program if `setup.runs` is 2.
///
/// After a failure the program is run again with every value kept, and the message names the first
/// node that differs, with its line. If keeping the values hides the difference, the message says
/// so.
Outcome check_determinism(Graph& graph, const Program& program, const RunSetup& setup = {},
                          const Tolerance& passes = {.absolute = 1e-5, .relative = 1e-4});

/// Checks that printing and parsing the program, and saving and loading it, both give the same
/// graph and the same bits.
Outcome check_round_trip(Graph& graph, const Program& program, const RunSetup& setup = {});

/// Checks that a program that is stopped after `setup.runs` runs, saved, loaded into another
/// Session and run `setup.runs` times again gives the same bits as without the interruption. It
/// fails if the program keeps state outside its saved Variables.
Outcome check_resume(Graph& graph, const Program& program, const RunSetup& setup = {});

/// Checks that `sessions` threads, each with its own Session over a shared store, give the same
/// bits as a single Session. The program must not update any Variables except keys and caches, of
/// which every Session has its own.
Outcome check_serving(Graph& graph, const Program& program, const RunSetup& setup = {},
                      int sessions = 4);

}  // namespace testing
}  // namespace weft
