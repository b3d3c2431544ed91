// Random loop bodies for comparing a scan with the unrolled loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/graph/control/scan.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/ir/program.h"

namespace weft::testing {

/// The carries, sequences, operands and the random body of a loop, drawn from a seed. The body
/// contains smooth operations on f64 rows [rows, width], products with weights, an i64 counter,
/// branches and inner loops. Some loops have no carries or no sequences. The bodies of half of the
/// loops have no operands: they capture the weights, a variable, computed values, constants and a
/// random key.
class RandomStep {
 public:
  explicit RandomStep(std::uint64_t seed);

  /// Declares the inputs in `graph`. Sequences have `steps` elements.
  void declare(Graph& graph, const Dim& steps);
  ScanStep body(Graph& graph, const ScanElements& in) const;
  /// Build the loop as a scan, or unrolled.
  ScanResult as_scan(Graph& graph, ScanOptions options) const;
  ScanResult unrolled(Graph& graph, std::int64_t steps, bool reverse) const;
  NamedTensors feeds(std::int64_t steps) const;
  /// Returns the values to differentiate with respect to: floating-point carries, sequences,
  /// operands and captured leaves.
  std::vector<Value> variables() const;
  bool captures() const { return captures_; }

  bool reverse = false;
  std::vector<Value> carries, sequences, operands;

 private:
  std::uint64_t seed_;
  int rows_, width_;
  int carries_, sequences_, outputs_;
  bool counts_, branches_, nests_, captures_;
  std::vector<Value> captured_;  // values that the body uses if it captures
  Value key_;

  std::vector<Value> captured_rows(Graph& graph, const ScanElements& in, Value row) const;
};

/// Returns the weighted sum of all results. The weights differ, so that every element contributes
/// differently.
Value weighted_sum(const ScanResult& result, bool outputs = true);
/// Returns a program with the results of the loop, their gradients with respect to its variables,
/// and the gradients of a function of these gradients.
Program with_gradients(const std::string& name, const RandomStep& step, const ScanResult& result);

/// Checks that all results are equal bit for bit.
void check_same(const Results& a, const Results& b, const std::string& what);

}  // namespace weft::testing
