// A program with all that it takes to run it: what the fuzzer makes, examines, shrinks and keeps.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/graph/run/results.h"

namespace weft::testing {

/// What one run of a program is given.
struct CaseRun {
  NamedTensors feeds;
  DimValues dims;  // of symbols that no feed shows, or of all
};

/// A program, the values with which its variables start, and the runs that follow one another. An
/// output called "grad LOSS WRT" claims to be the gradient of the sum of output LOSS with respect
/// to input or variable WRT.
struct Case {
  Module module;
  NamedTensors variables;
  std::vector<CaseRun> runs;

  Case clone() const;
  /// Drops feeds of inputs, values of variables and dims of symbols that the program has not.
  void tidy();
};

/// Name of a program that somebody differentiated: besides the draws of output "loss" it has those
/// that gradients draw again.
inline constexpr char kDifferentiated[] = "differentiated";

/// Names and parts of an output "grad LOSS WRT".
struct GradientClaim {
  std::string output, loss, wrt;
};
std::vector<GradientClaim> gradient_claims(const Program& program);

/// Everything as text, which parse_case reads back: the program, then a program of constants for
/// the variables and for every run, with lines of "====" between them. `comment` goes in front, as
/// lines of comment.
std::string case_text(const Case& c, const std::string& comment = {});
Case parse_case(const std::string& text, const std::string& file);

}  // namespace weft::testing
