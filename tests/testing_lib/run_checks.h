// Checks that results do not depend on threads, order, memory, files or other Sessions.
#pragma once

#include <cstdint>

#include "weft/graph/run/session.h"
#include "weft/testing/close.h"
#include "weft/testing/outcome.h"

namespace WEFT_API weft {
namespace testing {

/// How a check runs a program.
struct RunSetup {
  /// Feeds for every run.
  NamedTensors feeds = {};
  /// Initial values of variables. Other variables are set by their initialisers and `seed`.
  NamedTensors variables = {};
  std::uint64_t seed = 0;
  /// The number of consecutive runs. Each run starts from the variables that the previous run
  /// updated.
  int runs = 2;
  /// Values of the symbols that are not input sizes.
  DimValues dims = {};
};

/// Sets the variables of a Session to the values in `setup.variables`.
void set_variables(Session& session, const RunSetup& setup);

// Each of the following checks runs the program in several Sessions and compares all outputs of all
// runs, and all variables after the last run. The failure message contains the changed condition,
// the run, the output or variable, and the first element that differs.

/// Checks that the program gives the same bits under all of these conditions: when it is repeated;
/// with 2 and 5 threads; with shuffled and delayed chunks; with freed memory poisoned and buffers
/// guarded; and with a memory budget of three quarters of the arena (or slightly more, if no plan
/// fits into that budget). Without passes, results must be close within `passes`, because fused
/// sums may be rounded differently. If the precision of the program is not `highest`, they may also
/// differ by twice the largest change that its precision makes to the same output or variable. The
/// check uses eleven Sessions, that is, 22 runs of the program if `setup.runs` is 2.
///
/// After a failure, the program is run again with every value kept, and the failure message names
/// the first node that differs and its source line. If the difference disappears when all values
/// are kept, the message says so.
Outcome check_determinism(Graph& graph, const Program& program, const RunSetup& setup = {},
                          const Tolerance& passes = {.absolute = 1e-5, .relative = 1e-4});

/// Checks that the program has the same graph and gives the same bits after it has been printed and
/// parsed, and after it has been saved and loaded.
Outcome check_round_trip(Graph& graph, const Program& program, const RunSetup& setup = {});

/// Checks that an interruption does not change any bits. The program is run `setup.runs` times,
/// saved, loaded into another Session, and run `setup.runs` times again. The check fails if the
/// program keeps state outside its saved Variables.
Outcome check_resume(Graph& graph, const Program& program, const RunSetup& setup = {});

/// Checks that `sessions` threads, each with its own Session over a shared store, give the same
/// bits as a single Session. The program must not update any Variables except keys and caches,
/// because every Session has its own copies of those.
Outcome check_serving(Graph& graph, const Program& program, const RunSetup& setup = {},
                      int sessions = 4);

}  // namespace testing
}  // namespace weft
