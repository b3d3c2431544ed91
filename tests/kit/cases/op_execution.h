// One run of one kernel with everything in the test's hands: memory, order of chunks, which outputs
// are wanted, what lies in place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/ops/op.h"
#include "weft/tests/kit/cases/guarded_memory.h"

namespace weft::testing {

/// Has a kernel of its own: neither a leaf, nor an alias, nor a call.
bool has_kernel(const OpRecord& op);

struct OpExecutionOptions {
  /// Outputs that somebody reads; the others have no memory. Empty: all.
  std::function<bool(std::size_t)> wanted = {};
  /// Inputs, outputs and scratch are in guarded memory, inputs and outputs aligned to their element
  /// only.
  std::optional<Guard> guard = {};
  /// {output, input} that share memory, as OpRecord::inplace allows.
  std::optional<std::pair<int, int>> inplace = {};
  /// When not 0, chunks run in an order drawn from it; else last first.
  std::uint64_t shuffle_seed = 0;
  Precision precision = Precision::highest;
};

class OpExecution {
 public:
  /// `like` gives dtypes and sizes of the outputs.
  OpExecution(const OpRecord& op, const OpSample& sample, const std::vector<Tensor>& like,
              OpExecutionOptions options = {});

  /// Checks the data, then runs all phases over dirty scratch. Results lie in results().
  void execute();
  /// By output; of one that is not wanted the bytes mean nothing.
  const std::vector<Tensor>& results() const { return results_; }
  const Kernel& kernel() const { return kernel_; }
  const KernelRequest& request() const { return request_; }
  /// False if bytes around the scratch were written.
  bool scratch_intact() const;

 private:
  OpExecutionOptions options_;
  KernelRequest request_;
  std::vector<Tensor> owned_inputs_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::vector<Tensor> results_;
  Kernel kernel_;
  std::unique_ptr<GuardedMemory> shared_, slot_;
};

}  // namespace weft::testing
