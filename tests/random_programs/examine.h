// All properties that must hold for any program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "weft/tests/random_programs/case.h"

namespace weft::testing {

/// A property that does not hold. Two failures are of the same type if `check` is the same.
struct Failure {
  std::string check;    // "node add", "passes on", "text", "gradient", ...
  std::string message;  // the output, the run, and what is wrong
};

/// Statistics of the checks.
struct Examined {
  /// Nodes that were compared with their scalar models, counted once per run.
  int nodes = 0;
  /// Like `nodes`, but after the passes.
  int optimised_nodes = 0;
  /// Gradient elements that were compared with finite differences.
  int gradients = 0;
  /// Programs whose runs end with an error. Every way of running them must report this error.
  int refused = 0;
  /// Runs that recomputed values to meet a memory budget.
  int budgets = 0;
  /// The number of programs that each pass changed.
  std::map<std::string, int> passes;
  /// The number of nodes that passes created for records that the original program does not
  /// contain.
  std::map<std::string, int> introduced;
  /// The number of checks of each record.
  std::map<std::string, int> records;
};

/// Runs the case in all supported ways:
/// - compares the results of each node with its scalar model, on the operands that the Session
///   computed;
/// - requires equal bits with and without passes, static and symbolic, with several numbers of
///   threads, poisoned, shuffled, with a memory budget, prepacked, with outputs in caller-provided
///   tensors, with checks for non-finite values, and after a round trip through text and through a
///   file;
/// - compares claimed gradients with finite differences in double.
///
/// `seed` selects the expensive checks at random; 0 runs all of them. If `only` is the name of a
/// failed check, only that check runs.
std::optional<Failure> examine(const Case& c, std::uint64_t seed, Examined& examined,
                               const std::string& only = {});

}  // namespace weft::testing
