// Compiling: the symbolic half of planning, done once per program and list of fetches.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace weft {

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
    int node = 0;  // index into nodes
    int output = 0;
    int root = 0;         // the value whose memory this is: itself, or what it is an alias of
    bool needed = false;  // read by a node, an output or an update
  };
  /// What the memory of a value is that no kernel makes.
  enum class LeafKind : std::uint8_t { none, input, variable, constant };
  struct Leaf {
    LeafKind kind = LeafKind::none;
    int index = -1;  // into inputs, variables or constants
  };

  explicit CompiledProgram(Module compiled) : module(std::move(compiled)) {}

  Module module;
  std::string name;
  std::vector<Input> inputs;
  std::vector<VariableUse> variables;
  std::vector<Tensor> constants;
  std::vector<DimEquation> requirements;
  std::vector<Node*> nodes;      // what the roots need, topological
  std::vector<int> first_value;  // per node: number of its output 0
  std::vector<ValueUse> values;
  std::vector<Leaf> leaves;                          // per node
  std::vector<std::vector<int>> node_inputs;         // per node: values, -1 where absent
  std::vector<std::pair<std::string, int>> outputs;  // name and value: outputs, then fetches
  std::vector<std::pair<int, int>> updates;          // variable and value

  int input_index(std::string_view name) const;     // -1 if absent
  int variable_index(std::string_view name) const;  // -1 if absent
};

struct CompileOptions {
  bool passes = true;                        // false runs the graph as it was built
  Precision precision = Precision::highest;  // of products, where neither program nor node says
  std::vector<std::string> disabled = {};    // passes to leave out
};

/// Compiles `program`, with the values called `fetch` in its graph as further outputs. Throws
/// GraphError for a name that is neither an output nor a named value of the graph (it lists close
/// ones).
std::shared_ptr<const CompiledProgram> compile(const Program& program,
                                               const std::vector<std::string>& fetch,
                                               const CompileOptions& options = {});

}  // namespace weft
