// Compiling: the symbolic half of planning, done once per program and list of fetches.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/graph/plan/ids.h"

namespace WEFT_API weft {

/// A program after passes, in a graph of its own, with dense numbers for its values. Immutable;
/// knows no concrete size.
struct CompiledProgram {
  /// An input of the user's graph. Those that are not required may be fed: they only bind symbols.
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
    ValueId root;         // the value whose memory this is: itself, or what it is an alias of
    bool needed = false;  // read by a node, an output or an update
  };
  /// What the memory of a value is that no kernel makes.
  enum class LeafKind : std::uint8_t { none, input, variable, constant };
  struct Leaf {
    LeafKind kind = LeafKind::none;
    int index = -1;  // into inputs, variables or constants
    /// The variable, if it is one.
    VariableId variable() const { return VariableId(kind == LeafKind::variable ? index : -1); }
  };

  /// A function that a node runs.
  struct Body {
    std::shared_ptr<const CompiledProgram> program;
    std::vector<ValueType> formals;     // of the function's inputs
    int first_operand = 0;              // the node's operand that the function's input 0 is
    IdVector<InputId, int> operands;    // by input of the program: the node's operand
    IdVector<VariableId, int> carries;  // by variable of the program: the carry that it is
    std::vector<int> outputs;           // by output of the program: output of the function
  };

  explicit CompiledProgram(Module compiled) : module(std::move(compiled)) {}

  Module module;
  std::string name;
  IdVector<InputId, Input> inputs;
  IdVector<VariableId, VariableUse> variables;
  std::vector<Tensor> constants;
  std::vector<DimEquation> requirements;
  IdVector<NodeId, Node*> nodes;          // what the roots need, topological
  IdVector<NodeId, ValueId> first_value;  // its output 0
  IdVector<ValueId, ValueUse> values;
  IdVector<NodeId, Leaf> leaves;
  IdVector<NodeId, std::vector<Body>> bodies;            // as the op lists them; none of most nodes
  IdVector<NodeId, std::vector<ValueId>> node_inputs;    // none where absent
  std::vector<std::pair<std::string, ValueId>> outputs;  // outputs, then fetches
  std::vector<char> passing;                             // by output: CompileOptions::passing
  std::vector<std::pair<VariableId, ValueId>> updates;

  InputId find_input(std::string_view name) const;        // none if absent
  VariableId find_variable(std::string_view name) const;  // none if absent
};

struct CompileOptions {
  bool passes = true;                        // false runs the graph as it was built
  Precision precision = Precision::highest;  // of products, where neither program nor node says
  std::vector<std::string> disabled = {};    // passes to leave out
  /// Outputs that are told of and not kept (RunOptions::passing).
  std::vector<std::string> passing = {};
};

/// Compiles `program`, with the values called `fetch` in its graph as further outputs. Throws
/// GraphError for a name that is neither an output nor a named value of the graph (it lists close
/// ones), ArgumentError for one of a passing output that there is not.
std::shared_ptr<const CompiledProgram> compile(const Program& program,
                                               const std::vector<std::string>& fetch,
                                               const CompileOptions& options = {});

}  // namespace weft
