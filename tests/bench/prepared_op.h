// One op on concrete operands, prepared once and run many times: what a Session does per node,
// without the Session.
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

/// Runs `kernel` phases on `threads` workers, small ones on one, as a Session does.
class PreparedOp {
 public:
  /// Throws as the op's shape rule does. `threads` 0 means one per hardware thread.
  PreparedOp(std::string_view op, std::vector<Tensor> inputs, const Attributes& attributes,
             int threads, Precision precision = Precision::highest);

  void run();
  /// Work of one run: what the op's record says, or else one FLOP per output element and the bytes
  /// of all operands.
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

/// An f32 tensor of fixed pseudo-random numbers in [-1, 1).
Tensor random_tensor(const Sizes& sizes);
/// An i32 tensor of fixed pseudo-random numbers in [0, bound).
Tensor random_ids(const Sizes& sizes, std::int64_t bound);

/// Shows FLOP/s and bytes/s beside the time.
void report(benchmark::State& state, const Cost& cost);
/// The whole benchmark of one op.
void measure(benchmark::State& state, std::string_view op, std::vector<Tensor> inputs,
             const Attributes& attributes, int threads);

/// What every benchmark measures: 1 thread, and all of them where there are more.
std::vector<int> thread_counts();

}  // namespace weft::bench
