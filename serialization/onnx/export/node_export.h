// The view of one node that a translator has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/onnx/export/graph_export.h"

namespace weft::onnx {

class NodeExport {
 public:
  NodeExport(GraphExport& graph, ExportFrame& frame, Node& node)
      : graph_(graph), frame_(frame), node_(node) {}

  Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes(); }
  std::int64_t integer(std::string_view name) const { return attributes().integer(name); }
  std::int64_t opset() const { return graph_.opset(); }
  GraphExport& graph() const { return graph_; }

  /// Returns true if operand `i` is present.
  bool has(std::size_t i) const { return node_.input(i).defined(); }
  std::size_t input_count() const { return node_.inputs().size(); }
  /// Returns the name of an operand; "" if it is absent.
  std::string in(std::size_t i = 0) const;
  /// Returns the names of all operands.
  Names inputs() const;
  /// Returns the type of an operand or of an output.
  const ValueType& type(std::size_t i = 0) const { return node_.input(i).type(); }
  const ValueType& out_type(int i = 0) const { return node_.type(i); }
  /// Returns true if an output has readers.
  bool wants(int output) const { return frame_.used.count({&node_, output}) != 0; }
  /// Returns the name of the variable or constant that is operand `i`, without writing it.
  const std::string& name(std::size_t i) const { return frame_.names.at(node_.input(i)); }
  /// Returns the value of an operand that is a variable or a constant.
  std::optional<Tensor> known(std::size_t i) const;

  /// Adds a node with one output, or with several outputs.
  std::string add(std::string_view type, const Names& inputs,
                  const OnnxAttributes& attributes = {}) const;
  Names add(std::size_t outputs, std::string_view type, const Names& inputs,
            const OnnxAttributes& attributes = {}) const;
  /// Adds the operator `type` with the operands of this node. Integers of 8 bits, for which ONNX
  /// Runtime has few kernels, are widened to i32; the result wraps around as in Weft.
  std::string add_elementwise(std::string_view type) const;
  std::string constant(const Tensor& value) const { return graph_.constant(value); }
  std::string scalar(DType dtype, double value) const {
    return graph_.constant(Tensor::scalar(dtype, value));
  }
  /// Returns the name of an i64 list.
  std::string list(const std::vector<std::int64_t>& values) const {
    return graph_.constant(
        Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  std::string sizes(const Shape& shape) const { return graph_.sizes(shape.dims()); }
  std::string cast(const std::string& x, DType dtype) const;
  /// Reshapes x from shape `from` to shape `to`. Computes as few sizes as possible.
  std::string reshape(const std::string& x, const Shape& from, const Shape& to) const;
  std::string unsqueeze(const std::string& x, const std::vector<std::int64_t>& axes) const;

  /// Expresses the node by simpler nodes: `build` receives the node, its operands as inputs of
  /// another graph, and this graph. Only the outputs that have readers are translated.
  Names lower(const Decomposition& build) const { return expand(build, false); }
  /// Translates all results of `build`, which need not be those of the node.
  Names compute(const Decomposition& build) const { return expand(build, true); }

  /// Throws an ArgumentError that names the op, the reason and the source line.
  [[noreturn]] void unsupported(const std::string& reason) const { graph_.fail(node_, reason); }
  /// Throws unless the model has at least this opset. `what` is the part of the op that needs it.
  void require_opset(std::int64_t opset, std::string_view what) const;

 private:
  Names expand(const Decomposition& build, bool all) const;

  GraphExport& graph_;
  ExportFrame& frame_;
  Node& node_;
};

}  // namespace weft::onnx
