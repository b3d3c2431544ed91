// Random loop bodies for comparing a scan with the same loop unrolled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/control/scan.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/results.h"

namespace weft::testing {

/// The carries, sequences, operands and the random body of a loop, drawn from a seed: smooth
/// operations over f64 rows [rows, width], products with weights, an i64 counter, sometimes no
/// carries or no sequences, branches and inner loops.
class RandomStep {
 public:
  explicit RandomStep(std::uint64_t seed);

  /// Declares inputs of `graph`. Sequences have `steps` elements.
  void declare(Graph& graph, const Dim& steps);
  ScanStep body(Graph& graph, const ScanElements& in) const;
  /// The loop as a scan, and unrolled.
  ScanResult as_scan(Graph& graph, ScanOptions options) const;
  ScanResult unrolled(Graph& graph, std::int64_t steps, bool reverse) const;
  NamedTensors feeds(std::int64_t steps) const;
  /// Values to differentiate with respect to: floating-point carries, sequences and operands.
  std::vector<Value> variables() const;

  bool reverse = false;
  std::vector<Value> carries, sequences, operands;

 private:
  std::uint64_t seed_;
  int rows_, width_;
  int carries_, sequences_, outputs_;
  bool counts_, branches_, nests_;
};

/// The weighted sum of all results, with different weights so that every element contributes
/// differently.
Value weighted_sum(const ScanResult& result, bool outputs = true);
/// The results of the loop, their gradients with respect to its variables, and gradients of a
/// function of these gradients.
Program with_gradients(const std::string& name, const RandomStep& step, const ScanResult& result);

/// Checks that all results have the same bits.
void check_same(const Results& a, const Results& b, const std::string& what);

}  // namespace weft::testing
