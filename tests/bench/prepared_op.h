// One op on concrete operands, prepared once and run many times, as a Session does for each node,
// but without the overhead of a Session.
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

/// Runs the phases of the kernel of an op on `threads` workers, or on a single one for small
/// phases, as a Session does.
class PreparedOp {
 public:
  /// Throws the errors of the op's shape rule. If `threads` is 0, one per hardware thread is used.
  PreparedOp(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes,
             int threads, Precision precision = Precision::highest);

  /// Runs the kernel once on the operands.
  void run();
  /// The cost of one run according to the cost function of the op or, without one, one FLOP per
  /// output element and the bytes of all operands.
  const Cost& cost() const { return cost_; }
  const Tensor& output(std::size_t i) const { return outputs_[i]; }

 private:
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Kernel kernel_;
  Cost cost_;
  std::shared_ptr<Buffer> shared_;
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

/// Returns the thread counts of every benchmark: 1 and, if there are several hardware threads, all
/// of them.
std::vector<int> thread_counts();

}  // namespace weft::bench
