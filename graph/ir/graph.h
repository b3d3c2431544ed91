// The graph: nodes over dtypes and symbolic shapes, and the side tables that describe them.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/graph/ir/variable.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// A size in a declaration: a number, a Dim, or the name of a symbol of the graph.
class AxisSize {
 public:
  AxisSize(const char* symbol)
      : value_(std::string(symbol)) {}  // NOLINT(google-explicit-constructor)
  AxisSize(std::string symbol)
      : value_(std::move(symbol)) {}                  // NOLINT(google-explicit-constructor)
  AxisSize(Dim dim) : value_(std::move(dim)) {}       // NOLINT(google-explicit-constructor)
  AxisSize(std::int64_t size) : value_(Dim(size)) {}  // NOLINT(google-explicit-constructor)
  AxisSize(int size) : value_(Dim(size)) {}           // NOLINT(google-explicit-constructor)
  const std::variant<std::string, Dim>& value() const { return value_; }

 private:
  std::variant<std::string, Dim> value_;
};

struct VariableOptions {
  VariableKind kind = VariableKind::parameter;
  bool trainable = true;
  Initializer initializer = {};
};

/// A closed sub-graph: everything it uses comes in through `inputs` (also variables and keys). Used
/// by call, and by the bodies of loops and branches.
struct Function {
  std::string name;
  std::unique_ptr<Graph> body;
  std::vector<Value> inputs;  // input nodes of body, in order
  std::vector<Value> outputs;
  /// Name of the function that gives the gradient, where the user defined one: it takes the inputs,
  /// the outputs and one cotangent per output, and returns one value per input. Empty: derived.
  std::string gradient;
};

/// A computation graph. Building only infers dtypes and shapes and shares equal nodes;
/// simplification happens in passes. Not thread-safe while it is being built; a graph that nobody
/// builds any more may be read (compiled, printed, saved) by any number of threads. Immovable,
/// since Values point into it.
class Graph {
 public:
  explicit Graph(std::shared_ptr<const OpSet> ops = builtin_ops());
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // -- What users declare -------------------------------------------------------------------------

  /// A tensor fed at run time. Names are unique; a repeated one is a GraphError.
  Value input(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
              SourceLocation loc = SourceLocation::current());
  Value input(std::string_view name, const ValueType& type,
              SourceLocation loc = SourceLocation::current());
  /// A constant. Equal constants are one node.
  Value constant(Tensor value, SourceLocation loc = SourceLocation::current());
  /// A scalar constant of that dtype. Throws DTypeError for a value that an integer dtype does not
  /// hold: a fraction, or one out of range.
  Value scalar(DType dtype, double value, SourceLocation loc = SourceLocation::current());
  /// Named state. Names are unique among variables and aliases.
  Variable variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                    VariableOptions options = {}, SourceLocation loc = SourceLocation::current());
  Variable variable(std::string_view name, const ValueType& type, VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current());
  /// A second name of a variable (tied weights): loading accepts it, saving keeps it.
  void alias(std::string_view name, Variable variable,
             SourceLocation loc = SourceLocation::current());
  /// The random key called `name` (made on first use): "dropout", "sample", ...
  Variable key(std::string_view name, SourceLocation loc = SourceLocation::current());
  /// The symbol called `name` (made on first use) as a Dim. Throws ArgumentError for a name that
  /// does not read back from text (Dim::is_symbol_name).
  Dim dim(std::string_view name);
  /// What a declaration with these sizes has; symbols are made on first use.
  ValueType declared_type(DType dtype, std::initializer_list<AxisSize> sizes);
  /// Makes the symbols of another graph known here, so that its Dims can be used (for copies of
  /// graphs).
  void share_symbols(const Graph& other);
  /// States that two dims are equal: used by shape inference from here on, and checked whenever
  /// sizes are known. A statement that can never hold is a ShapeError at once.
  void require(const DimEquation& equation, SourceLocation loc = SourceLocation::current());

  // -- Generic building ---------------------------------------------------------------------------

  /// Applies an op: checks arity, attributes, dtypes and shapes, and returns the node (an existing
  /// one where an equal node is there). Errors name op, operand types and the user's line.
  Node& apply(const OpRecord& op, std::vector<Value> inputs, Attributes attributes = {},
              SourceLocation loc = SourceLocation::current(), std::uint32_t instance = 0);
  Node& apply(std::string_view op, std::vector<Value> inputs, Attributes attributes = {},
              SourceLocation loc = SourceLocation::current());
  /// A fresh stream number for a random op.
  std::int64_t next_stream() { return reserve_streams(1); }
  /// The first of `count` stream numbers that nobody else has (see draws.h).
  std::int64_t reserve_streams(std::int64_t count);
  /// Every stream number in use is below this one.
  std::int64_t stream_end() const { return next_stream_; }
  /// Whether some node draws random numbers, itself or in a function that it calls.
  bool draws() const { return draws_; }
  /// A fresh instance number for a recomputed clone.
  std::uint32_t next_instance() { return next_instance_++; }
  /// Adds a closed sub-graph; its name must be new.
  const Function& add_function(Function function, SourceLocation loc = SourceLocation::current());

  // -- Looking ------------------------------------------------------------------------------------

  const OpSet& ops() const { return *ops_; }
  const std::shared_ptr<const OpSet>& shared_ops() const { return ops_; }
  /// All nodes in topological order.
  std::size_t node_count() const { return nodes_.size(); }
  /// Node `id`, from 0 to node_count() - 1.
  Node& node(std::size_t id) const { return *nodes_[id]; }
  /// In order of declaration.
  const std::vector<Value>& inputs() const { return inputs_; }
  Value find_input(std::string_view name) const;  // undefined if absent
  /// All variables in order of creation.
  std::vector<Variable> variables() const;
  /// Trainable parameters in order of creation.
  std::vector<Variable> parameters() const;
  /// By name or alias; throws GraphError with the closest name.
  Variable find_variable(std::string_view name) const;
  /// Whether there is a variable of this name or alias.
  bool has_variable(std::string_view name) const;
  /// What is known of the variable that a node reads.
  const VariableInfo& variable_info(const Node& read) const;
  /// Whether parameters() has it, from here on.
  void set_trainable(Variable variable, bool trainable);
  const Function& function(std::string_view name) const;  // throws GraphError
  /// Whether there is a function of this name.
  bool has_function(std::string_view name) const;
  const std::deque<Function>& functions() const { return functions_; }
  const std::vector<DimEquation>& requirements() const { return requirements_; }
  const std::vector<SymbolPtr>& symbols() const { return symbols_; }
  SymbolPtr find_symbol(std::string_view name) const;  // null if absent, of several the first
  const DimFacts& facts() const;
  /// What a random key is after a run that draws from it; undefined for other variables. Made with
  /// the key, so that looking at a program never changes its graph.
  Value advanced_key(Variable key) const;

  // -- Side tables: never part of identity -------------------------------------------------------

  /// Names a value, so that it can be fetched by name. The same name twice is a GraphError.
  void set_name(std::string_view name, Value value, SourceLocation loc = SourceLocation::current());
  Value find_named(std::string_view name) const;  // undefined if absent
  const std::map<std::string, Value, std::less<>>& names() const { return names_; }
  /// The name of a value, or "".
  std::string name_of(Value value) const;
  /// "model.cc:31, in linear() called at main.cc:12": where the node was built, outermost last.
  std::string where(const Node& node) const;
  /// The line where the node was built.
  SourceLocation location(const Node& node) const;
  /// The line outside of all frames, the user's: what stands in files.
  SourceLocation origin(const Node& node) const;
  /// Scope path of the node ("net.block.0"), or "".
  std::string_view scope_of(const Node& node) const;
  /// Copies location, frames and scope of `from` (of any graph) to a node of this graph.
  void copy_source_info(const Node& from, const Node& to);
  /// Sets location and scope of a node (for graphs read from text or files).
  void set_source_info(const Node& node, SourceLocation location, std::string_view scope);

  /// While a Frame lives, nodes are recorded as built inside `function` (called at `loc`) and, if
  /// given, in scope `scope`. Layers open one, so that messages show the user's line and not only
  /// ours.
  class Frame {
   public:
    Frame(Graph& graph, std::string_view function, SourceLocation loc, std::string_view scope = {});
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Graph& graph_;
    int previous_;
  };
  /// The same for nodes made on behalf of another node (gradients, decompositions): they inherit
  /// its place, with `what` ("gradient of matmul") in front.
  class SourceInfoOf {
   public:
    SourceInfoOf(Graph& graph, const Node& node, std::string what);
    ~SourceInfoOf();
    SourceInfoOf(const SourceInfoOf&) = delete;
    SourceInfoOf& operator=(const SourceInfoOf&) = delete;

   private:
    Graph& graph_;
    int previous_;
    bool previous_override_;
    SourceLocation previous_location_;
  };

  /// Takes back the nodes, inputs, variables and functions that were added while it lived, unless
  /// keep() was called: for builders of several nodes that may fail half way.
  class Undo {
   public:
    explicit Undo(Graph& graph);
    ~Undo();
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;
    /// What was added stays.
    void keep() { kept_ = true; }

   private:
    Graph& graph_;
    std::size_t nodes_, inputs_, variables_, functions_;
    bool kept_ = false;
  };

  /// Throws an error of the dynamic type of `error`, with op, operand types and place added.
  [[noreturn]] void fail(const Error& error, std::string_view op, const std::vector<Value>& inputs,
                         SourceLocation loc) const;
  /// The same for an error in running a node of this graph, at the place where it was built.
  [[noreturn]] void fail(const Error& error, const Node& node) const;
  /// Text of the current place: "main.cc:12" and the frames around it.
  std::string describe_source(SourceLocation loc) const;
  /// Throws GraphError if `value` is undefined or of another graph.
  void check_owned(Value value, std::string_view what, SourceLocation loc) const;

 private:
  friend class Frame;
  friend class Undo;
  friend class SourceInfoOf;
  class Facts;
  struct FrameRecord {
    int parent = -1;
    std::string function;
    SourceLocation location;
    std::string scope;
  };
  struct SourceInfo {
    SourceLocation location;
    int frame = -1;
  };

  Dim resolve(const AxisSize& size);
  bool knows(const SymbolPtr& symbol) const;
  void add_symbol(const SymbolPtr& symbol);
  Value add_leaf(std::string_view op, std::string_view name, const ValueType& type,
                 SourceLocation loc);
  void check_symbols(const Dim& dim) const;
  void check_symbols(const Dim& dim, std::string_view what, SourceLocation loc) const;
  void check_type(const ValueType& type, std::string_view what, SourceLocation loc) const;
  void check_operands(const OpRecord& op, const std::vector<Value>& inputs) const;
  // How many stream numbers a node takes, from its attribute `stream` on.
  std::int64_t streams_of(const OpRecord& op, const std::vector<Value>& inputs,
                          const Attributes& attributes) const;
  std::string operands_text(std::string_view op, const std::vector<Value>& inputs,
                            bool declared_names = false) const;
  std::string frames_text(int frame) const;
  /// `loc` with a file name that lives as long as this graph: it may come from another graph, which
  /// passes drop, or from a plug-in.
  SourceLocation kept(SourceLocation loc);

  std::shared_ptr<const OpSet> ops_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_multimap<std::size_t, Node*> interned_;
  std::vector<Value> inputs_;
  std::unordered_map<std::string, std::size_t> input_index_;
  std::deque<VariableInfo> variables_;
  std::vector<Node*> variable_reads_;
  std::vector<Value> advanced_keys_;                             // by variable
  std::unordered_map<std::string, std::size_t> variable_index_;  // names and aliases
  std::unordered_map<const Node*, std::size_t> variable_of_read_;
  std::vector<SymbolPtr> symbols_;
  std::unordered_multimap<std::string_view, std::size_t> symbol_index_;  // by the symbols' names
  std::vector<DimEquation> requirements_;
  std::unique_ptr<Facts> facts_;
  std::deque<Function> functions_;
  std::unordered_map<std::string, std::size_t> function_index_;
  std::int64_t next_stream_ = 1;
  bool draws_ = false;
  std::uint32_t next_instance_ = 1;

  std::map<std::string, Value, std::less<>> names_;
  std::unordered_map<Value, std::string, ValueHash> name_of_;
  std::vector<SourceInfo> source_infos_;  // by node id
  std::vector<FrameRecord> frames_;
  std::deque<std::string> file_names_;                        // of all locations
  std::map<std::pair<const void*, int>, int> copied_frames_;  // (graph, frame) -> frame here
  int frame_ = -1;
  bool override_location_ = false;  // inside SourceInfoOf
  SourceLocation location_;
};

/// Types of the outputs of an op in `graph`: its shape rule, which sees the graph's functions and
/// requirements.
std::vector<ValueType> infer_types(const Graph& graph, const OpRecord& op,
                                   const std::vector<Value>& inputs, const Attributes& attributes);

}  // namespace weft
