// Random bodies of loops, the same in a scan and written out step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/control/scan.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/results.h"

namespace weft::testing {

/// Carries, sequences and operands of a loop whose body is drawn from a seed: smooth operations
/// over f64 rows [rows, width], products with weights, a counter in i64, now and then steps without
/// any carry or sequence, branches and inner loops.
class RandomStep {
 public:
  explicit RandomStep(std::uint64_t seed);

  /// Declares inputs of `graph` for `steps` steps: sequences have this many.
  void declare(Graph& graph, const Dim& steps);
  ScanStep body(Graph& graph, const ScanElements& in) const;
  /// The loop as a scan, and written out.
  ScanResult as_scan(Graph& graph, ScanOptions options) const;
  ScanResult unrolled(Graph& graph, std::int64_t steps, bool reverse) const;
  NamedTensors feeds(std::int64_t steps) const;
  /// What can be differentiated by: floating carries, sequences and operands.
  std::vector<Value> variables() const;

  bool reverse = false;
  std::vector<Value> carries, sequences, operands;

 private:
  std::uint64_t seed_;
  int rows_, width_;
  int carries_, sequences_, outputs_;
  bool counts_, branches_, nests_;
};

/// Sum of all results with weights of their own, so that every element counts differently.
Value weighted_sum(const ScanResult& result, bool outputs = true);
/// The loop's results, gradients by its variables, and gradients of a function of these.
Program with_gradients(const std::string& name, const RandomStep& step, const ScanResult& result);

/// All results have the same bits.
void check_same(const Results& a, const Results& b, const std::string& what);

}  // namespace weft::testing
