// The differences that a reduced precision of matrix products makes to the results of a program.
#pragma once

#include <map>
#include <string>

#include "weft/graph/ir/program.h"
#include "weft/testing/close.h"
#include "weft/testing/run_checks.h"

namespace weft::testing {

/// Measures, for each output and variable of a program, the largest change of an element that the
/// program's precision makes, compared with Precision::highest. A run of the same program with
/// other steps (without passes, or with fewer rows) may round other values, so its results may
/// differ by about as much. The changes are measured because optimizers like Adam, which divide by
/// the size of a gradient, amplify them. They are 0 for Precision::highest.
class PrecisionSpread {
 public:
  PrecisionSpread(Graph& graph, const Program& program, const RunSetup& setup);

  /// Returns `tolerance` with twice the largest change of this output or variable added.
  Tolerance output(Tolerance tolerance, const std::string& name) const;
  Tolerance variable(Tolerance tolerance, const std::string& name) const;
  /// Returns `tolerance` for any value of the program, of which only the dtype is known: relative
  /// errors of up to 4 roundings of the operands of a product.
  Tolerance value(Tolerance tolerance) const;

 private:
  std::map<std::string, double> outputs_, variables_;
  double rounding_ = 0;
};

}  // namespace weft::testing
