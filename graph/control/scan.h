// scan: a loop over a sequence axis with carried state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// The inputs of a scan body in one step.
struct ScanElements {
  std::vector<Value> carries;
  /// Element `index` of each sequence.
  std::vector<Value> elements = {};
  /// Values that are the same in every step, such as parameters and random keys.
  std::vector<Value> operands = {};
  /// i64 step index, 0 to length - 1; counts down if the scan is reversed.
  Value index = {};
};
/// The results of a scan body in one step.
struct ScanStep {
  std::vector<Value> carries = {};  // new carries, with the types of the old ones
  std::vector<Value> outputs = {};  // outputs, which are stacked over the steps
};
/// Callback that builds a scan body. It may use any Value, Variable or random key of the graph that
/// contains the loop, and call layers with a Scope of that graph.
using ScanBody = std::function<ScanStep(Graph& body, const ScanElements& in)>;

struct ScanOptions {
  /// Runs from the last element to the first. Output i still belongs to element i.
  bool reverse = false;
  /// Number of steps. Required only if there are no sequences.
  std::optional<AxisSize> length = std::nullopt;
  /// Number of valid steps for each batch row, beginning with index 0: i32 or i64 [batch]. Axis 0
  /// of all carries and outputs must be the batch. In the remaining steps of a row, its carries are
  /// unchanged and its outputs are zero.
  OptionalArg lengths = {};
  /// Gradient checkpointing: if positive, gradients keep only the carries at every `segment`-th
  /// step and recompute the steps in between. With segment = sqrt(length), memory grows with
  /// sqrt(length) at the cost of one additional forward pass. 0 keeps the values of every step.
  std::int64_t segment = 0;
  /// If true, all steps draw the same random numbers: the stream numbers of the body are used
  /// unchanged in every step. Nodes that are copied into the body therefore draw the same numbers
  /// as the original nodes. Cannot be combined with `segment`.
  bool same_draws = false;
  /// Name of the body function.
  std::string name = "scan";
};

/// The results of scan().
struct ScanResult {
  std::vector<Value> carries;  // final carries
  std::vector<Value> outputs;  // stacked outputs, [length, ...]
};

/// Loops over axis 0 of `sequences`, which must have the same size in all of them. `body` is built
/// once, with the types of `carries`, of the elements of the sequences and of `operands`, and runs
/// once per step. A value of `graph` (or of a graph around it) that the body uses is captured: it
/// becomes an operand, at no cost per step. The same holds for Variables, random keys, and values
/// that the body returns. A small constant is copied into the body instead. State is passed through
/// carries; a body cannot update Variables.
///
/// Random draws inside the body differ from step to step, because keys among the operands and
/// captured keys are folded with the step index. Gradients of any order flow through carries,
/// sequences, operands and captured values. Planning time does not depend on the number of steps.
///   auto [last, hs] = scan(g, {h0}, {xs}, {}, [&](Graph&, const ScanElements& in) {
///     const Value h = tanh(linear(net / "cell", concat({in.elements[0], in.carries[0]}, 1), 64));
///     return ScanStep{{h}, {h}};
///   });
/// Throws ShapeError or DTypeError if sequences differ in length or a carry changes its type, and
/// GraphError if the body uses a value of an unrelated graph or declares an input or a Variable in
/// `body`, or if a Value of the body is used after the loop without being returned.
ScanResult scan(Graph& graph, const std::vector<Value>& carries,
                const std::vector<Value>& sequences, const std::vector<Value>& operands,
                const ScanBody& body, const ScanOptions& options = {},
                SourceLocation loc = SourceLocation::current());

}  // namespace weft
