// Translation of a program to the messages of an ONNX graph.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "weft/core/dim_polynomial.h"
#include "weft/graph/engine/variable_store.h"
#include "weft/graph/ir/program.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

using Names = std::vector<std::string>;

/// An attribute of an ONNX node.
struct OnnxAttribute {
  std::string_view name;
  std::variant<std::int64_t, double, std::string_view, std::vector<std::int64_t>> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

/// An initialiser of the model. The data of `tensor` is not part of the message.
struct OnnxInitializer {
  onnx_proto::Tensor header;  // name, type and sizes
  Tensor data;                // the bytes to be written
};

/// The names of the values of one graph, or of one call of a function.
struct ExportFrame {
  std::unordered_map<Value, std::string, ValueHash> names;
  std::set<std::pair<const Node*, int>> used;  // outputs that have readers
};

/// Translates nodes, one after the other. Bodies of loops and branches become subgraphs, which use
/// values of the graphs around them; calls are inlined.
class GraphExport {
 public:
  /// `store` contains the variables.
  GraphExport(onnx_proto::Graph& graph, const VariableStore& store, std::int64_t opset);

  /// Adds all nodes, inputs and outputs of a program.
  void add_program(const Program& program);
  /// Returns the initialisers, in the order of their first use.
  std::vector<OnnxInitializer>& initializers() { return initializers_; }

  std::int64_t opset() const { return opset_; }
  const VariableStore& store() const { return store_; }

  // -- For NodeExport -----------------------------------------------------------------------------

  /// Adds a node with new names for its outputs.
  onnx_proto::Node& add_node(std::string_view type, const Names& inputs, std::size_t outputs,
                             const OnnxAttributes& attributes);
  /// Adds an initialiser with these bytes, or returns the name of an equal one.
  std::string constant(const Tensor& value);
  /// Returns the name of a variable, and writes the variable if it has not been written yet.
  const std::string& read(const std::string& name);
  /// Writes the variable `name` in another layout instead, once, and returns the name of the
  /// initialiser.
  std::string repacked(const std::string& name, std::int32_t data_type, const Sizes& sizes,
                       const Tensor& bytes);
  /// Returns the name of the value of a size, i64[1].
  std::string size(const Dim& dim);
  /// Returns the name of the value of all sizes, i64[rank].
  std::string sizes(const std::vector<Dim>& dims);
  /// Translates the nodes that `roots` depend on and returns their names. The names of the inputs
  /// of the graph are in `frame`.
  Names add_values(ExportFrame& frame, const std::vector<Value>& roots);
  /// Translates a function with these operands in place of its inputs.
  Names add_function(const Function& function, const Names& operands);
  /// An input or an output of a graph.
  struct Port {
    std::string name;
    ValueType type;
  };
  /// Builds a subgraph, an attribute of a node. `build` adds its nodes and returns its outputs.
  void add_subgraph(onnx_proto::Graph& graph, const std::vector<Port>& inputs,
                    const std::function<std::vector<Port>()>& build);
  /// Returns a name that no other value has.
  std::string unique(const std::string& name);
  /// Throws an ArgumentError: `node` cannot be written, for this reason.
  [[noreturn]] void fail(const Node& node, const std::string& reason) const;

 private:
  friend class NodeExport;

  struct Scope {
    onnx_proto::Graph* graph = nullptr;
    std::map<std::string, std::string> sizes = {};  // names of computed sizes, by operator
    std::set<std::string> outputs = {};             // of the nodes of this graph
  };

  void add_value(ExportFrame& frame, Node& node);
  Names translate(ExportFrame& frame, Node& node);
  std::string size_node(std::string_view type, const Names& inputs,
                        const OnnxAttributes& attributes = {});
  std::string size_of_symbol(const Symbol& symbol);
  std::string size_of_atom(const Atom& atom);
  std::string floor_quotient(const Dim& a, const Dim& b);
  std::string variable(const Node& read);
  /// `mark` is one of the marks in model_file.h.
  void add_initializer(const std::string& name, std::int32_t data_type, const Sizes& sizes,
                       const Tensor& bytes, const char* mark);
  /// Records that the axes of the value `name` have these sizes.
  void bind(const std::string& name, const Shape& shape);
  /// Returns `name`, or the name of a copy if the value is not the output of a node of the
  /// innermost graph or is one of its outputs already.
  std::string own_output(const std::string& name, std::set<std::string>& taken);
  void rename(onnx_proto::Graph& graph, const std::map<std::string, std::string>& names) const;

  onnx_proto::Graph& graph_;
  const VariableStore& store_;
  const std::int64_t opset_;
  std::vector<Scope> scopes_;
  std::vector<OnnxInitializer> initializers_;
  std::map<std::string, const Node*> unread_;     // variables that have no initialiser yet
  std::map<std::string, std::string> repacked_;   // names of variables in another layout
  std::map<std::string, std::string> constants_;  // names by type, sizes and bytes
  std::map<std::string, int> names_;              // the last suffix of each name
  /// The axes of named values from which the sizes of symbols are read.
  std::map<const Symbol*, std::pair<std::string, int>> symbols_;
  std::vector<DimEquation> requirements_;
  const Node* origin_ = nullptr;  // the node of the program that is being translated
  int lowering_ = 0;              // the number of nodes that are being expressed by simpler nodes
};

}  // namespace weft::onnx
