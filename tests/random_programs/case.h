// A program together with everything that is needed to run it. The fuzzer generates, examines,
// shrinks and stores such cases.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/engine/results.h"
#include "weft/graph/ir/clone.h"

namespace weft::testing {

/// The inputs of one run of a program.
struct CaseRun {
  NamedTensors feeds;
  /// Sizes of the symbols that no feed determines, or of all symbols.
  DimValues dims;
};

/// A program, the initial values of its variables, and a sequence of runs. An output named "grad
/// LOSS WRT" must be the gradient of the sum of the output LOSS with respect to the input or
/// variable WRT.
struct Case {
  Module module;
  NamedTensors variables;
  std::vector<CaseRun> runs;

  Case clone() const;
  /// Removes feeds, variables and dims that the program does not use.
  void tidy();
};

/// The name of a program that contains gradients. Gradients repeat the random numbers of the
/// forward pass, so only those of the output "loss" must have distinct streams.
inline constexpr char kDifferentiated[] = "differentiated";

/// The name of an output "grad LOSS WRT", and its two parts.
struct GradientClaim {
  std::string output, loss, wrt;
};
std::vector<GradientClaim> gradient_claims(const Program& program);

/// Writes a case as text that parse_case() reads. The text contains the program, one program of
/// constants for the variables, and one program of constants for every run, separated by lines of
/// "====". It starts with `comment`, as comment lines.
std::string case_text(const Case& c, const std::string& comment = {});
Case parse_case(const std::string& text, const std::string& file);

}  // namespace weft::testing
