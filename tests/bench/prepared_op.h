// One op with concrete operands that is prepared once and run many times. A Session does the same
// for each node, but has additional overhead.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/ops/op.h"

namespace weft::bench {

/// Runs the kernel phases of an op on `threads` workers. Small phases run on a single worker, as in
/// a Session.
class PreparedOp {
 public:
  /// Propagates the errors of the op's shape rule. If `threads` is 0, one thread per hardware
  /// thread is used. If `constant` is not negative, it is the index of an input that is the same in
  /// every run, so that the kernel may pack it in advance.
  PreparedOp(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes,
             int threads, Precision precision = Precision::highest, int constant = -1);

  /// Runs the kernel once on the operands.
  void run();
  /// The cost of one run according to the op's cost function. For ops without one, the cost is one
  /// FLOP per output element, and the bytes of all operands.
  const Cost& cost() const { return cost_; }
  const Tensor& output(std::size_t i) const { return outputs_[i]; }

 private:
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Kernel kernel_;
  Cost cost_;
  std::shared_ptr<Buffer> shared_, packed_;
  std::vector<std::shared_ptr<Buffer>> slots_;
  Workers workers_;
};

/// Returns an f32 tensor of pseudo-random numbers in [-1, 1) with a fixed seed.
Tensor random_tensor(const Sizes& sizes);
/// Returns an i32 tensor of pseudo-random numbers in [0, bound) with a fixed seed.
Tensor random_ids(const Sizes& sizes, std::int64_t bound);

/// Adds counters for FLOP/s and bytes/s to the output of a benchmark.
void report(benchmark::State& state, const Cost& cost);
/// Benchmarks one op: prepares it, runs it in the loop of `state`, and reports its cost.
void measure(benchmark::State& state, std::string_view op, std::vector<Tensor> inputs,
             const Attributes& attributes, int threads);

/// Returns the thread counts for every benchmark: 1 and, if there are several hardware threads,
/// their number.
std::vector<int> thread_counts();

}  // namespace weft::bench
