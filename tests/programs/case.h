// A program with everything that is needed to run it. The fuzzer generates, examines, shrinks and
// stores such cases.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/graph/run/results.h"

namespace weft::testing {

/// The inputs of one run of a program.
struct CaseRun {
  NamedTensors feeds;
  /// Sizes of symbols that no feed determines, or of all symbols.
  DimValues dims;
};

/// A program, the initial values of its variables, and a sequence of runs. An output named "grad
/// LOSS WRT" is expected to be the gradient of the sum of output LOSS with respect to input or
/// variable WRT.
struct Case {
  Module module;
  NamedTensors variables;
  std::vector<CaseRun> runs;

  Case clone() const;
  /// Removes feeds, variables and dims that the program does not use.
  void tidy();
};

/// Name of a program that contains gradients. Gradients repeat random draws of the forward pass, so
/// only the draws of output "loss" must have distinct streams.
inline constexpr char kDifferentiated[] = "differentiated";

/// The name and the parts of an output "grad LOSS WRT".
struct GradientClaim {
  std::string output, loss, wrt;
};
std::vector<GradientClaim> gradient_claims(const Program& program);

/// Writes a case as text that parse_case() reads: the program, then one program of constants for
/// the variables and one for every run, separated by lines of "====". `comment` is written first,
/// as comment lines.
std::string case_text(const Case& c, const std::string& comment = {});
Case parse_case(const std::string& text, const std::string& file);

}  // namespace weft::testing
