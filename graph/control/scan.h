// Loops over a time axis with carried state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// What the body of a scan sees in one step.
struct ScanElements {
  std::vector<Value> carries;
  std::vector<Value> elements = {};  // element `index` of each sequence
  std::vector<Value> operands = {};  // the same in every step: parameters, random keys
  Value index = {};  // i64: 0 to length - 1, counting down where the scan is reversed
};
/// What it gives.
struct ScanStep {
  std::vector<Value> carries = {};  // the new ones, of the old ones' types
  std::vector<Value> outputs = {};  // to be stacked
};
using ScanBody = std::function<ScanStep(Graph& body, const ScanElements& in)>;

struct ScanOptions {
  /// From the last element to the first; outputs stay where their elements are.
  bool reverse = false;
  /// Steps; needed only where there are no sequences.
  std::optional<AxisSize> length = std::nullopt;
  /// i32 or i64 [batch]: how many steps count for each row, from index 0 on, where axis 0 of all
  /// carries and outputs is the batch. In the other steps carries stay and outputs are zero.
  OptionalArg lengths = {};
  /// Gradients keep only the carries at every `segment`-th step and run the steps between them
  /// again: with segment = sqrt(length) memory grows with sqrt(length), for one more forward pass.
  /// 0 keeps what every step needs.
  std::int64_t segment = 0;
  /// All steps draw the same numbers, under the stream numbers that the draws have in the body:
  /// what is copied there draws what it draws where it was copied from. Not with `segment`.
  bool same_draws = false;
  /// Of the function in the graph's text.
  std::string name = "scan";
};

/// What a scan gives.
struct ScanResult {
  std::vector<Value> carries;  // the last ones
  std::vector<Value> outputs;  // [length, ...]
};

/// A loop over axis 0 of `sequences`, which all have the same size there: `body` is built once,
/// with the types of `carries`, of the sequences' elements and of `operands`, and runs once per
/// step. Everything that it uses comes in through its arguments: a Value of `graph` inside the body
/// is an error. State goes through carries; a body cannot update Variables.
///
/// Random draws inside differ from step to step: a key among the operands is folded with the step's
/// index. Gradients of any order go through carries, sequences and operands. Planning takes the
/// same time for any number of steps.
///   auto [last, hs] = scan(g, {h0}, {xs}, {w}, [](Graph&, const ScanElements& in) {
///     const Value h = tanh(matmul(in.elements[0], in.operands[0]) + in.carries[0]);
///     return ScanStep{{h}, {h}};
///   });
/// Throws ShapeError or DTypeError where sequences have other lengths or carries change their type,
/// GraphError for captured values.
ScanResult scan(Graph& graph, const std::vector<Value>& carries,
                const std::vector<Value>& sequences, const std::vector<Value>& operands,
                const ScanBody& body, const ScanOptions& options = {},
                SourceLocation loc = SourceLocation::current());

}  // namespace weft
