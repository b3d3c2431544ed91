// Node and Value: the edges and vertices of a Graph.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

class Graph;
class Node;

/// One output of a Node: a handle, cheap to copy. A default-made Value is undefined and stands for
/// an absent optional operand. Lives as long as its Graph.
class Value {
 public:
  Value() = default;
  Value(Node* node, int output) : node_(node), output_(output) {}

  bool defined() const { return node_ != nullptr; }
  Node& node() const { return *node_; }
  Node* node_pointer() const { return node_; }
  int output() const { return output_; }
  Graph& graph() const;

  const ValueType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  /// Size of an axis; negative axes count from the end.
  const Dim& size(int axis) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  Node* node_ = nullptr;
  int output_ = 0;
};

/// An application of an op. Immutable. Its identity is op, attributes, inputs and instance number.
class Node {
 public:
  const OpRecord& op() const { return *op_; }
  const Attributes& attributes() const { return attributes_; }
  /// Operands in the order of the record; absent optional ones are undefined Values (trailing
  /// absent ones are dropped).
  const std::vector<Value>& inputs() const { return inputs_; }
  Value input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : Value(); }
  int output_count() const { return static_cast<int>(types_.size()); }
  /// Type of output `i`, and the output as a Value.
  const ValueType& type(int output) const { return types_[static_cast<std::size_t>(output)]; }
  Value output(int i) { return Value(this, i); }
  /// Graph::node(id) is this node. Inputs have smaller ids than the nodes that use them, so that
  /// increasing id is a topological order.
  std::uint32_t id() const { return id_; }
  /// Recomputed clones differ in this number only, so that nothing merges them back.
  std::uint32_t instance() const { return instance_; }
  Graph& graph() const { return *graph_; }

 private:
  friend class Graph;
  const OpRecord* op_ = nullptr;
  Attributes attributes_;
  std::vector<Value> inputs_;
  std::vector<ValueType> types_;
  std::uint32_t id_ = 0;
  std::uint32_t instance_ = 0;
  Graph* graph_ = nullptr;
};

inline Graph& Value::graph() const { return node_->graph(); }
inline const ValueType& Value::type() const { return node_->type(output_); }

/// For unordered containers of Values.
struct ValueHash {
  std::size_t operator()(const Value& v) const {
    return reinterpret_cast<std::size_t>(v.node_pointer()) * 31 +
           static_cast<std::size_t>(v.output());
  }
};

}  // namespace weft
