// Executes a single kernel with full control over its memory, the order of its chunks, the
// requested outputs and the in-place operands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weft/ops/op.h"
#include "weft/tests/support/cases/guarded_memory.h"

namespace weft::testing {

/// Returns true if the op has its own kernel, that is, if it is not a leaf, an alias or a call.
bool has_kernel(const OpRecord& op);

struct OpExecutionOptions {
  /// Returns true for outputs that have a reader; the other outputs have no memory. If empty, all
  /// outputs are wanted.
  std::function<bool(std::size_t)> wanted = {};
  /// If set, inputs, outputs and scratch are in guarded memory, and inputs and outputs are aligned
  /// only to their element size.
  std::optional<Guard> guard = {};
  /// An {output, input} pair that shares memory, as allowed by OpRecord::inplace.
  std::optional<std::pair<int, int>> inplace = {};
  /// If not 0, the seed for a random order of chunks. If 0, the chunks run from last to first.
  std::uint64_t shuffle_seed = 0;
  Precision precision = Precision::highest;
};

class OpExecution {
 public:
  /// `like` determines the dtypes and sizes of the outputs.
  OpExecution(const OpRecord& op, const OpSample& sample, const std::vector<Tensor>& like,
              OpExecutionOptions options = {});

  /// Checks the data, then runs all phases with scratch memory that is filled with a pattern. Sets
  /// results().
  void execute();
  /// The outputs. The contents of outputs that are not wanted are unspecified.
  const std::vector<Tensor>& results() const { return results_; }
  const Kernel& kernel() const { return kernel_; }
  const KernelRequest& request() const { return request_; }
  /// Returns false if the kernel wrote to bytes next to the scratch memory.
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
