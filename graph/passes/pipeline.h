// Passes: rewrites of a program that keep its meaning. They know dtypes and symbolic shapes, never
// the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

/// What a pass did.
struct PassReport {
  std::string_view pass;
  std::size_t nodes = 0;  // of the program that it gives
  /// Nodes, operands, uses and groups that it looked at: its time is proportional to it.
  std::int64_t steps = 0;
};

struct PassOptions {
  /// Names of passes to leave out, also names of earlier versions.
  std::vector<std::string> disabled = {};
  /// Checks the structure after every pass (see verify_program): for tests and debugging.
  bool verify = false;
  /// The largest operands, in elements, that `fold` evaluates at compile time.
  std::int64_t fold_elements = std::int64_t{1} << 20;
  /// Of products, where neither program nor node says.
  Precision precision = Precision::highest;
  /// Called with the program before the first pass ("start") and after every pass: to print it,
  /// say.
  std::function<void(std::string_view pass, const Program& program)> observe = {};
  /// Called after every pass with what it did.
  std::function<void(const PassReport& report)> report = {};
  /// Where a pass counts its steps, if given: run_passes gives each a counter of its own.
  std::int64_t* steps = nullptr;

  /// Counts steps.
  void count(std::size_t more) const {
    if (steps != nullptr) *steps += static_cast<std::int64_t>(more);
  }
};

/// A named rewrite. `run` takes a module and gives a new one.
struct Pass {
  std::string name;
  std::string doc;
  Module (*run)(Module module, const PassOptions& options) = nullptr;
  /// A name that it had in earlier versions: PassOptions::disabled takes it too. Empty: none.
  std::string earlier_name = {};

  bool is_called(std::string_view other) const {
    return other == name || (!earlier_name.empty() && other == earlier_name);
  }
};

/// Weft's passes in the order in which they run: see pipeline.cc. Every pass also drops what the
/// program does not need (it copies what is reachable) and merges equal nodes (building interns
/// them).
const std::vector<Pass>& default_passes();

/// Runs `passes` one after the other, except those that the options disable. The result computes
/// the same bits as the original, except that sign and payload of a NaN may differ, and that
/// products with quantised weights, hoist, fuse_linear_cross_entropy, fuse_scatter_add, and
/// products into which simplify moves transposes and widening casts add the same terms in another
/// order, and that bf16_activations rounds operands of products at `medium`. Throws ArgumentError
/// for an unknown name in `disabled`.
Module run_passes(Module module, const PassOptions& options = {});
Module run_passes(Module module, const std::vector<Pass>& passes, const PassOptions& options);

/// Replaces every call by the body of its function, nested calls too.
Module inline_calls(Module module, const PassOptions& options = {});
/// Makes one loop of those over the same operands with the same carries: see merge_scans.cc.
Module merge_scans(Module module, const PassOptions& options = {});
/// Moves what does not depend on carries out of loops: see hoist.cc and sink.cc.
Module hoist_from_scans(Module module, const PassOptions& options = {});
/// Evaluates nodes whose operands are constants, where the result is not larger than the operands
/// (or than 64 elements). Random and opaque ops stay; so does a node whose data check fails, so
/// that the error comes at run time, with its line.
Module fold_constants(Module module, const PassOptions& options = {});
/// Removes operations that change nothing: see simplify.cc for the list.
Module simplify(Module module, const PassOptions& options = {});
/// Makes products with quantised weights, and rows taken from them, read them as they are: see
/// fold_dequantize.cc.
Module fold_dequantize(Module module, const PassOptions& options = {});
/// Fuses a linear layer with the cross-entropy of its outputs, forward and backward: see
/// fuse_linear_cross_entropy.cc.
Module fuse_linear_cross_entropy(Module module, const PassOptions& options = {});
/// Lets index_add add to what its result is added to: see fuse_scatter_add.cc.
Module fuse_scatter_add(Module module, const PassOptions& options = {});
/// Keeps activations that only products at `medium` read as bfloat16: see bf16_activations.cc.
Module bf16_activations(Module module, const PassOptions& options = {});
/// Gathers elementwise ops of one shape into nodes `fused`: see fuse.cc. Runs late: other passes do
/// not look into them. Their names (Graph::names) vanish where nobody asks for the values.
Module fuse(Module module, const PassOptions& options = {});
/// Moves elementwise ops that follow a matrix product into it: see epilogue.cc. Runs after fuse.
Module move_epilogues(Module module, const PassOptions& options = {});

}  // namespace weft
