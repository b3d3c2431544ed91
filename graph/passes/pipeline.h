// Passes: rewrites of a program that preserve its semantics. They depend on dtypes and symbolic
// shapes, never on the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// Statistics of one pass.
struct PassReport {
  std::string_view pass;
  std::size_t nodes = 0;  // nodes of the resulting program
  /// Number of visited nodes, operands, uses and groups. The run time of the pass is proportional
  /// to this number.
  std::int64_t steps = 0;
};

/// Options of run_passes and of every pass.
struct PassOptions {
  /// Names of passes to skip; names from earlier versions are also accepted.
  std::vector<std::string> disabled = {};
  /// Calls verify_program after every pass, for tests and debugging.
  bool verify = false;
  /// Maximum number of operand elements of a node that `fold` evaluates at compile time.
  std::int64_t fold_elements = std::int64_t{1} << 20;
  /// Precision of matrix products for which neither the program nor the node sets one.
  Precision precision = Precision::highest;
  /// Called with the program before the first pass ("start") and after every pass, for example to
  /// print it.
  std::function<void(std::string_view pass, const Program& program)> observe = {};
  /// Called after every pass with its statistics.
  std::function<void(const PassReport& report)> report = {};
  /// Counter to which a pass adds its steps, or null; run_passes passes each pass a separate
  /// counter.
  std::int64_t* steps = nullptr;

  /// Adds `more` to the counter, if any.
  void count(std::size_t more) const {
    if (steps != nullptr) *steps += static_cast<std::int64_t>(more);
  }
};

/// A named rewrite. `run` maps a module to a new module.
struct Pass {
  std::string name;
  std::string doc;
  Module (*run)(Module module, const PassOptions& options) = nullptr;
  /// The name in earlier versions, which PassOptions::disabled also accepts; empty if there is
  /// none.
  std::string earlier_name = {};

  bool is_called(std::string_view other) const {
    return other == name || (!earlier_name.empty() && other == earlier_name);
  }
};

/// Returns Weft's passes in the order in which they run (see pipeline.cc). Every pass also drops
/// nodes that the program does not need, because it copies only reachable nodes, and merges equal
/// nodes, because graphs intern nodes.
const std::vector<Pass>& default_passes();

/// Runs `passes` in order and skips the passes that the options disable. Throws ArgumentError for
/// an unknown name in `disabled`. The result is bit-exact with the original, with these exceptions:
/// - the sign and payload of a NaN may differ;
/// - products with quantised weights, hoist, fuse_linear_cross_entropy, fuse_scatter_add, and
///   products that absorb transposes or widening casts (simplify) add the same terms in a different
///   order;
/// - bf16_activations rounds operands and kept results of products at `medium`.
Module run_passes(Module module, const PassOptions& options = {});
Module run_passes(Module module, const std::vector<Pass>& passes, const PassOptions& options);

/// Replaces every call, including nested calls, with the body of its function.
Module inline_calls(Module module, const PassOptions& options = {});
/// Merges loops over the same operands with the same carries: see merge_scans.cc.
Module merge_scans(Module module, const PassOptions& options = {});
/// Moves computations that do not depend on carries out of loops: see hoist.cc and sink.cc.
Module hoist_from_scans(Module module, const PassOptions& options = {});
/// Evaluates nodes that have only constant operands if the result is not larger than the operands
/// (or has at most 64 elements). Random and opaque ops are not folded. Nodes that reject their data
/// are not folded either, so that the error is thrown at run time, with the node's source line.
Module fold_constants(Module module, const PassOptions& options = {});
/// Removes operations that have no effect: see simplify.cc for the list.
Module simplify(Module module, const PassOptions& options = {});
/// Makes products with quantised weights, and lookups of rows of quantised weights, read the
/// quantised data directly: see fold_dequantize.cc.
Module fold_dequantize(Module module, const PassOptions& options = {});
/// Fuses a linear layer with the cross-entropy of its outputs, forward and backward: see
/// fuse_linear_cross_entropy.cc.
Module fuse_linear_cross_entropy(Module module, const PassOptions& options = {});
/// Replaces index_add into zeros plus a value with index_add into that value: see
/// fuse_scatter_add.cc.
Module fuse_scatter_add(Module module, const PassOptions& options = {});
/// Stores operands and results of products at `medium` as bfloat16: see bf16_activations.cc.
Module bf16_activations(Module module, const PassOptions& options = {});
/// Combines elementwise ops with equal shapes into `fused` nodes: see fuse.cc. Runs late, because
/// other passes do not look inside `fused` nodes. If a value becomes internal to a `fused` node,
/// its name (Graph::names) is lost.
Module fuse(Module module, const PassOptions& options = {});
/// Fuses elementwise ops into the epilogue of the matrix product that they follow: see epilogue.cc.
/// Runs after fuse.
Module move_epilogues(Module module, const PassOptions& options = {});

}  // namespace weft
