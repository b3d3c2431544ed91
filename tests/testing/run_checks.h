// What must not change what a program computes: threads, order, memory, files, other Sessions.
#pragma once

#include <cstdint>

#include "weft/graph/run/session.h"
#include "weft/testing/close.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// How a program is run for a check.
struct RunSetup {
  NamedTensors feeds = {};  // of every run
  /// Values of variables that do not start from their initialisers and `seed`.
  NamedTensors variables = {};
  std::uint64_t seed = 0;
  /// Runs one after the other: the second sees what the first has updated.
  int runs = 2;
  DimValues dims = {};  // of symbols that no input shows
};

/// Gives a Session the values of `setup.variables`.
void set_variables(Session& session, const RunSetup& setup);

// Each runs the program in Sessions of its own and compares all outputs of all runs, and all
// variables behind the last one. A message names what was changed, the run, the output or variable,
// and the first element.

/// The same bits a second time; with 2 and 5 threads; with chunks in another order and delays; with
/// dead memory poisoned and buffers guarded; and within a memory budget of at least three quarters
/// of the arena, where a plan meets it. Without passes close, as `passes` says: fused sums may be
/// rounded elsewhere. In all these are eleven Sessions, so 22 runs of the program where
/// `setup.runs` is 2.
///
/// What fails is run again with every value kept, and the message names the first node that differs
/// then, and its line; it says so where that hides the difference.
Outcome check_determinism(Graph& graph, const Program& program, const RunSetup& setup = {},
                          const Tolerance& passes = {.absolute = 1e-5, .relative = 1e-4});

/// Printed as text and read again, and saved as a file and loaded: the same graph, the same bits.
Outcome check_round_trip(Graph& graph, const Program& program, const RunSetup& setup = {});

/// Stopped after `setup.runs` runs, saved, loaded into another Session and run as often again: the
/// same bits as without the break. What fails it is state that is no Variable.
Outcome check_resume(Graph& graph, const Program& program, const RunSetup& setup = {});

/// `sessions` threads, each with a Session of its own over one store, have the same bits as one
/// alone. The program must not update Variables but keys and caches, which each Session has itself.
Outcome check_serving(Graph& graph, const Program& program, const RunSetup& setup = {},
                      int sessions = 4);

}  // namespace testing
}  // namespace weft
