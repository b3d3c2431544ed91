// Compilation: the symbolic half of planning, which is done once per program and list of fetches.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/graph/plan/ids.h"

namespace WEFT_API weft {

/// A program after all passes, in a separate graph, with densely numbered values. Immutable.
/// Contains no concrete sizes.
struct CompiledProgram {
  /// An input of the user's graph. Inputs that are not required may still be fed; they only bind
  /// symbols.
  struct Input {
    std::string name;
    ValueType type;
    bool required = false;
  };
  /// A variable that is read or updated.
  struct VariableUse {
    VariableInfo info;
    bool updated = false;
  };
  /// One output of one node.
  struct ValueUse {
    NodeId node;
    int output = 0;
    ValueId root;         // value that owns the memory: this value, or the value that it aliases
    bool needed = false;  // used by a node, an output or an update
  };
  /// The type of a value that no kernel computes.
  enum class LeafKind : std::uint8_t { none, input, variable, constant };
  struct Leaf {
    LeafKind kind = LeafKind::none;
    int index = -1;  // index into inputs, variables or constants
    /// The variable, or an undefined id if the leaf is not a variable.
    VariableId variable() const { return VariableId(kind == LeafKind::variable ? index : -1); }
  };

  /// A function that a node executes, such as the body of a loop.
  struct Body {
    std::shared_ptr<const CompiledProgram> program;
    std::vector<ValueType> formals;     // types of the function's inputs
    int first_operand = 0;              // node operand for input 0 of the function
    IdVector<InputId, int> operands;    // indexed by program input: operand of the node
    IdVector<VariableId, int> carries;  // indexed by program variable: the carry in it
    std::vector<int> outputs;           // indexed by program output: output of the function
  };

  explicit CompiledProgram(Module compiled) : module(std::move(compiled)) {}

  Module module;
  std::string name;
  IdVector<InputId, Input> inputs;
  IdVector<VariableId, VariableUse> variables;
  std::vector<Tensor> constants;
  std::vector<DimEquation> requirements;
  IdVector<NodeId, Node*> nodes;          // reachable from the roots, in topological order
  IdVector<NodeId, ValueId> first_value;  // output 0 of the node
  IdVector<ValueId, ValueUse> values;
  IdVector<NodeId, Leaf> leaves;
  IdVector<NodeId, std::vector<Body>> bodies;            // in the op's order; usually empty
  IdVector<NodeId, std::vector<ValueId>> node_inputs;    // undefined ids for absent inputs
  std::vector<std::pair<std::string, ValueId>> outputs;  // outputs, then fetches
  std::vector<char> streamed;  // indexed by output: CompileOptions::streamed
  std::vector<std::pair<VariableId, ValueId>> updates;

  /// Return an undefined id if there is no input or variable of this name.
  InputId find_input(std::string_view name) const;
  VariableId find_variable(std::string_view name) const;
};

/// Options of compile().
struct CompileOptions {
  bool passes = true;  // false: run the graph as it was built
  /// Precision of matrix products for which neither the program nor the node sets one.
  Precision precision = Precision::highest;
  std::vector<std::string> disabled = {};  // names of passes to skip
  /// Names of streamed outputs (RunOptions::streamed), which are passed to a callback but not kept.
  std::vector<std::string> streamed = {};
};

/// Compiles `program` with the values named in `fetch` as additional outputs. Throws GraphError for
/// a fetched name that is neither an output nor a named value of the graph (the message lists
/// similar names), and ArgumentError for a streamed output that does not exist.
std::shared_ptr<const CompiledProgram> compile(const Program& program,
                                               const std::vector<std::string>& fetch,
                                               const CompileOptions& options = {});

}  // namespace weft
