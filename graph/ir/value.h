// Node and Value: the vertices and edges of a Graph.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ops/op.h"

namespace WEFT_API weft {

class Graph;
class Node;

/// A handle to one output of a Node, cheap to copy. A default-constructed Value is undefined and
/// represents an absent optional operand. A Value is valid for the lifetime of its Graph.
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
  /// Returns the size of an axis; negative axes count from the end.
  const Dim& size(int axis) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  Node* node_ = nullptr;
  int output_ = 0;
};

/// An application of an op. Immutable. Two nodes are equal if op, attributes, inputs and instance
/// number are equal.
class Node {
 public:
  const OpRecord& op() const { return *op_; }
  const Attributes& attributes() const { return attributes_; }
  /// Operands in the order of the OpRecord. Absent optional operands are undefined Values; trailing
  /// absent ones are dropped.
  const std::vector<Value>& inputs() const { return inputs_; }
  Value input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : Value(); }
  int output_count() const { return static_cast<int>(types_.size()); }
  /// Returns the type of an output.
  const ValueType& type(int output) const { return types_[static_cast<std::size_t>(output)]; }
  /// Returns output `i` as a Value.
  Value output(int i) { return Value(this, i); }
  /// Returns the index of this node: Graph::node(id) is this node. Inputs have smaller ids than the
  /// nodes that use them, so sorting by id gives a topological order.
  std::uint32_t id() const { return id_; }
  /// Returns the instance number. Rematerialised copies of a node differ from it in this number
  /// only, so that they are not merged again.
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

/// Hash for unordered containers of Values.
struct ValueHash {
  std::size_t operator()(const Value& v) const {
    return reinterpret_cast<std::size_t>(v.node_pointer()) * 31 +
           static_cast<std::size_t>(v.output());
  }
};

}  // namespace weft
