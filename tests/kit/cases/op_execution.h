// Executes a single kernel with full control over its memory, the order of chunks, the wanted
// outputs and in-place operands.
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

/// True if the op has its own kernel: it is not a leaf, an alias or a call.
bool has_kernel(const OpRecord& op);

struct OpExecutionOptions {
  /// Selects the outputs that have a reader; the others have no memory. If empty, all outputs are
  /// wanted.
  std::function<bool(std::size_t)> wanted = {};
  /// If set, inputs, outputs and scratch are in guarded memory, and inputs and outputs are aligned
  /// only to their element size.
  std::optional<Guard> guard = {};
  /// An {output, input} pair that shares memory, as allowed by OpRecord::inplace.
  std::optional<std::pair<int, int>> inplace = {};
  /// If not 0, the seed of a random order of chunks; otherwise the last chunk runs first.
  std::uint64_t shuffle_seed = 0;
  Precision precision = Precision::highest;
};

class OpExecution {
 public:
  /// `like` provides the dtypes and sizes of the outputs.
  OpExecution(const OpRecord& op, const OpSample& sample, const std::vector<Tensor>& like,
              OpExecutionOptions options = {});

  /// Checks the data, then runs all phases with scratch that is filled with a pattern. Sets
  /// results().
  void execute();
  /// The outputs. The bytes of an output that is not wanted are meaningless.
  const std::vector<Tensor>& results() const { return results_; }
  const Kernel& kernel() const { return kernel_; }
  const KernelRequest& request() const { return request_; }
  /// False if bytes next to the scratch were written.
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
