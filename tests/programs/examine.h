// Everything that must hold of a program, whatever it computes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "weft/tests/programs/case.h"

namespace weft::testing {

/// What does not hold. Two failures are of one kind if `check` is the same.
struct Failure {
  std::string check;    // "node add", "passes on", "text", "gradient", ...
  std::string message;  // which output of which run, and what is wrong with it
};

/// What was looked at, in numbers.
struct Examined {
  int nodes = 0;            // checked against their scalar models, in every run
  int optimised_nodes = 0;  // the same after the passes
  int gradients = 0;        // elements compared with differences
  int refused = 0;          // programs whose data are refused, by every way of running alike
  int budgets = 0;          // runs that recomputed something
  std::map<std::string, int> passes;  // how many programs a pass changed
  /// How many nodes passes made of a record that the program as written had not.
  std::map<std::string, int> introduced;
  std::map<std::string, int> records;  // how often a record was checked
};

/// Runs the case in every way there is:
///   each node's result against its scalar model, given the operands that the Session itself made;
///   with passes and without, static and symbolic, by several numbers of threads, poisoned,
///   shuffled, under a memory budget, prepacked, into tensors of the caller's, looking for what is
///   not finite, from its own text and from a file: the same bits;
///   claimed gradients against differences, in double.
/// `seed` chooses how far the costlier ways are gone; 0 goes all of them. With `only`, the name of
/// a failed check, nothing else is looked at.
std::optional<Failure> examine(const Case& c, std::uint64_t seed, Examined& examined,
                               const std::string& only = {});

}  // namespace weft::testing
