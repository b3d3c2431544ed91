// Graph: nodes with dtypes and symbolic shapes, and side tables for names and source locations.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/graph/ir/variable.h"
#include "weft/ops/op.h"

namespace WEFT_API weft {

/// The size of one axis in a declaration: a number, a Dim, or the name of a symbol of the graph.
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

/// A closed subgraph: everything that it uses, including variables and random keys, is passed
/// through `inputs`. Functions are the targets of calls and the bodies of loops and branches.
struct Function {
  std::string name;
  std::unique_ptr<Graph> body;
  std::vector<Value> inputs;  // input nodes of body, in order
  std::vector<Value> outputs;
  /// Name of a user-defined gradient function, or empty if the gradient is derived automatically. A
  /// gradient function has the inputs, the outputs and one cotangent per output as inputs and
  /// returns one value per input.
  std::string gradient;
};

/// A computation graph. Building a graph infers dtypes and shapes and merges equal nodes;
/// simplification is left to optimisation passes. Building is not thread-safe, but a finished graph
/// may be read (compiled, printed, saved) by any number of threads at the same time. A Graph cannot
/// be moved because Values point into it.
///
/// While a callback builds the body of a loop or branch (see Body), new nodes belong to the body,
/// even if all of their operands are values of an enclosing graph. Declarations of inputs and
/// variables belong to the graph on which they are called.
class Graph {
 public:
  explicit Graph(std::shared_ptr<const OpSet> ops = builtin_ops());
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // -- Declarations -------------------------------------------------------------------------------

  /// Declares a tensor that is fed at run time. Throws GraphError if an input of this name exists.
  Value input(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
              SourceLocation loc = SourceLocation::current());
  Value input(std::string_view name, const ValueType& type,
              SourceLocation loc = SourceLocation::current());
  /// Returns a constant. Equal constants share one node.
  Value constant(Tensor value, SourceLocation loc = SourceLocation::current());
  /// Returns a scalar constant. Throws DTypeError if `dtype` is an integer type that cannot
  /// represent `value` exactly: a fraction, or a number out of range.
  Value scalar(DType dtype, double value, SourceLocation loc = SourceLocation::current());
  /// Declares a variable: named state that persists between runs. Throws GraphError if a variable
  /// or alias of this name exists, and ShapeError if a variable that is not of kind cache has
  /// symbolic sizes.
  Variable variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                    VariableOptions options = {}, SourceLocation loc = SourceLocation::current());
  Variable variable(std::string_view name, const ValueType& type, VariableOptions options = {},
                    SourceLocation loc = SourceLocation::current());
  /// Declares a second name for a variable (tied weights). Loading accepts the alias, and saving
  /// preserves it.
  void alias(std::string_view name, Variable variable,
             SourceLocation loc = SourceLocation::current());
  /// Returns the random key `name` ("dropout", "sample", ...), created on first use. In the body of
  /// a loop or branch that is being built, returns the key of the outermost graph. Throws
  /// GraphError if `name` is a variable of another kind.
  Variable key(std::string_view name, SourceLocation loc = SourceLocation::current());
  /// Returns the symbol `name` as a Dim, created on first use. The body of a loop or branch shares
  /// the symbols of the enclosing graphs. Throws ArgumentError if the name could not be parsed in
  /// the text format (see Dim::is_symbol_name).
  Dim dim(std::string_view name);
  /// Returns the type of a declaration with these sizes. Symbols are created on first use.
  ValueType declared_type(DType dtype, std::initializer_list<AxisSize> sizes);
  /// Adds the symbols of another graph to this graph, so that Dims of the other graph can be used
  /// here. Used when graphs are copied.
  void share_symbols(const Graph& other);
  /// Requires that two dims are equal. Shape inference uses the equation from then on, and the
  /// equation is checked as soon as the sizes are known. Throws ShapeError if the equation can
  /// never hold.
  void require(const DimEquation& equation, SourceLocation loc = SourceLocation::current());

  // -- Generic building ---------------------------------------------------------------------------

  /// Applies an op and returns its node; an existing equal node is reused. Checks arity,
  /// attributes, dtypes and shapes. Errors name the op, the operand types and the user's source
  /// line. While the body of a loop or branch is being built, the node is added to the body, and
  /// operands of enclosing graphs are captured.
  Node& apply(const OpRecord& op, std::vector<Value> inputs, Attributes attributes = {},
              SourceLocation loc = SourceLocation::current(), std::uint32_t instance = 0);
  Node& apply(std::string_view op, std::vector<Value> inputs, Attributes attributes = {},
              SourceLocation loc = SourceLocation::current());
  /// Reserves a stream number for one random op.
  std::int64_t next_stream() { return reserve_streams(1); }
  /// Reserves `count` consecutive stream numbers and returns the first (see draws.h).
  std::int64_t reserve_streams(std::int64_t count);
  /// Returns an exclusive upper bound on the stream numbers in use.
  std::int64_t stream_end() const { return next_stream_; }
  /// Returns true if any node, or a function that a node calls, draws random numbers.
  bool draws() const { return draws_; }
  /// Returns an unused instance number for a rematerialised copy of a node.
  std::uint32_t next_instance() { return next_instance_++; }
  /// Adds a function. Throws GraphError if the name is taken or the function is not closed.
  const Function& add_function(Function function, SourceLocation loc = SourceLocation::current());

  // -- Queries ------------------------------------------------------------------------------------

  const OpSet& ops() const { return *ops_; }
  const std::shared_ptr<const OpSet>& shared_ops() const { return ops_; }
  std::size_t node_count() const { return nodes_.size(); }
  /// Returns the node with this id, from 0 to node_count() - 1. Ids are in topological order.
  Node& node(std::size_t id) const { return *nodes_[id]; }
  /// Returns the inputs in declaration order.
  const std::vector<Value>& inputs() const { return inputs_; }
  /// Returns the input `name`, or an undefined Value.
  Value find_input(std::string_view name) const;
  /// Returns all variables in creation order.
  std::vector<Variable> variables() const;
  /// Returns the trainable parameters in creation order.
  std::vector<Variable> parameters() const;
  /// Returns the variable with this name or alias. If there is no such variable, throws a
  /// GraphError that suggests the closest name.
  Variable find_variable(std::string_view name) const;
  /// Returns true if there is a variable with this name or alias.
  bool has_variable(std::string_view name) const;
  /// Returns the declaration of the variable that `read`, a node of op "variable", reads.
  const VariableInfo& variable_info(const Node& read) const;
  /// Freezes or unfreezes a parameter. parameters() returns only trainable parameters.
  void set_trainable(Variable variable, bool trainable);
  /// Returns the function `name`. Throws GraphError if there is no such function.
  const Function& function(std::string_view name) const;
  /// Returns true if there is a function of this name.
  bool has_function(std::string_view name) const;
  const std::deque<Function>& functions() const { return functions_; }
  const std::vector<DimEquation>& requirements() const { return requirements_; }
  const std::vector<SymbolPtr>& symbols() const { return symbols_; }
  /// Returns the symbol `name`, or null. If several symbols have this name, returns the first.
  SymbolPtr find_symbol(std::string_view name) const;
  /// Decides equality of dims under the equations that were added with require().
  const DimFacts& facts() const;
  /// Returns the value of a random key after a run that draws from it, or an undefined Value for
  /// other variables. The value is created together with the key, so that const operations on a
  /// Program never add nodes to its graph.
  Value advanced_key(Variable key) const;

  // -- Names and source locations: not part of a node's identity ---------------------------------

  /// Names a value, so that it can be fetched by name. Throws GraphError if the name belongs to a
  /// different value.
  void set_name(std::string_view name, Value value, SourceLocation loc = SourceLocation::current());
  /// Returns the value of this name, or an undefined Value.
  Value find_named(std::string_view name) const;
  const std::map<std::string, Value, std::less<>>& names() const { return names_; }
  /// Returns the name of a value, or "".
  std::string name_of(Value value) const;
  /// Describes the source location of a node, outermost frame last: "model.cc:31, in linear()
  /// called at main.cc:12".
  std::string where(const Node& node) const;
  /// Returns the source line that created the node.
  SourceLocation location(const Node& node) const;
  /// Returns the source line outside of all frames, which is the line in user code. Files store
  /// this line.
  SourceLocation origin(const Node& node) const;
  /// Returns the scope path of the node ("net.block.0"), or "".
  std::string_view scope_of(const Node& node) const;
  /// Returns the number that was passed to scalar() for this constant, if rounding to the dtype of
  /// the constant changed it. A copy of the graph in a wider dtype uses it. Files do not store it.
  std::optional<double> unrounded(const Node& constant) const;
  /// Copies location, frames, scope and unrounded number of `from`, a node of any graph, to a node
  /// of this graph.
  void copy_source_info(const Node& from, const Node& to);
  /// Sets location and scope of a node. Used for graphs that are read from text or files.
  void set_source_info(const Node& node, SourceLocation location, std::string_view scope);

  /// RAII scope: nodes created during its lifetime are recorded as built inside `function`, called
  /// at `loc`, and in the given scope if `scope` is not empty. Library functions and layers open a
  /// Frame so that error messages show the user's source line as well as the line in the library.
  class Frame {
   public:
    Frame(Graph& graph, std::string_view function, SourceLocation loc, std::string_view scope = {});
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Graph& graph_;
    int previous_;
    std::unique_ptr<Frame> inside_;  // the same frame in the body that is being built
  };
  /// The values of enclosing graphs that the bodies of one loop or branch use. Each of them becomes
  /// an additional operand, input `name` + (first + i) of every body.
  struct Captures {
    std::string name;
    std::size_t first = 0;
    std::vector<Value> values = {};  // values of the graph that contains the loop or branch
  };
  /// RAII scope during which a callback builds the graph `body` of a loop, branch or function of
  /// `outer`. Frames that are opened in `outer` then also apply to nodes of the body, so that a
  /// layer with a Scope of `outer` is named in errors. If library code builds the body, its nodes
  /// also record the frames of `outer`, which contain the user's line. `function` describes the
  /// body in errors.
  ///
  /// With `captures`, the body may use values and symbols of `outer` and the graphs around it.
  /// Without `captures`, the body is closed, and using such a value is an error.
  class Body {
   public:
    Body(Graph& outer, Graph& body, std::string_view function, SourceLocation loc,
         Captures* captures = nullptr);
    ~Body();
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

   private:
    Graph& outer_;
    Graph& body_;
    Graph* previous_;
  };
  /// RAII scope in which new nodes are added to `graph` itself, even if a body is being built in
  /// it. For functions that walk through the nodes of a graph and extend it, such as gradients.
  class Outside {
   public:
    explicit Outside(Graph& graph) : graph_(graph), body_(graph.body_) { graph.body_ = nullptr; }
    ~Outside() { graph_.body_ = body_; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Graph& graph_;
    Graph* body_;
  };
  /// RAII scope for nodes that are created on behalf of another node, such as gradients and
  /// decompositions: they inherit the source location of that node, prefixed with `what` ("gradient
  /// of matmul").
  class InheritedSourceInfo {
   public:
    InheritedSourceInfo(Graph& graph, const Node& node, std::string what);
    ~InheritedSourceInfo();
    InheritedSourceInfo(const InheritedSourceInfo&) = delete;
    InheritedSourceInfo& operator=(const InheritedSourceInfo&) = delete;

   private:
    Graph& graph_;
    int previous_;
    bool previous_override_;
    SourceLocation previous_location_;
  };

  /// RAII scope that removes the nodes, inputs, variables and functions added during its lifetime,
  /// unless keep() was called. For builders that create several nodes and may fail halfway. If
  /// `graph` is a body that is being built, this includes additions to the enclosing graphs.
  class Undo {
   public:
    explicit Undo(Graph& graph);
    ~Undo();
    Undo(const Undo&) = delete;
    Undo& operator=(const Undo&) = delete;
    /// Keeps everything that was added so far.
    void keep();

   private:
    Graph& graph_;
    std::size_t nodes_, inputs_, variables_, functions_, captures_;
    bool kept_ = false;
    std::unique_ptr<Undo> enclosing_;
  };

  /// Throws an error of the dynamic type of `error`, with op, operand types and source location
  /// added to its message.
  [[noreturn]] void fail(const Error& error, std::string_view op, const std::vector<Value>& inputs,
                         SourceLocation loc) const;
  /// As above, for an error during the execution of a node of this graph. The message contains the
  /// source location of the node.
  [[noreturn]] void fail(const Error& error, const Node& node) const;
  /// Describes the current source location: "at main.cc:12" followed by the frames around it.
  std::string describe_source(SourceLocation loc) const;
  /// Throws GraphError unless nodes that are added to this graph can use `value`: it must be a
  /// value of this graph. While a body is being built, it must be a value of the body or a value
  /// that the body can capture.
  void check_owned(Value value, std::string_view what, SourceLocation loc) const;

  // -- Bodies of loops and branches ---------------------------------------------------------------

  /// Returns the graph to which new nodes are added: the innermost body that is being built in this
  /// graph, or this graph.
  Graph& building();
  const Graph& building() const;
  /// If this graph is a body that is being built and may capture values, returns the graph that
  /// contains its loop or branch; otherwise null.
  Graph* enclosing() const { return captures_ != nullptr ? outer_ : nullptr; }
  /// Returns the description of the body that is being built in errors ("the body of scan 'scan'"),
  /// or "" if this graph is not a body that is being built.
  std::string_view body_name() const {
    return open_ ? std::string_view(body_name_) : std::string_view();
  }
  /// Returns `value` as a value of this graph. If this graph is a body that is being built, a value
  /// of an enclosing graph becomes an input of the body (a small constant is copied instead).
  /// Throws GraphError for other values; `what` describes the value in the message.
  Value capture(Value value, std::string_view what, SourceLocation loc);
  /// Returns true if `symbol` belongs to this graph, or to a graph that encloses this body.
  bool sees_symbol(const SymbolPtr& symbol) const;
  /// Keeps a body that has been built, so that errors about its values can describe them.
  void keep_body(std::unique_ptr<Graph> body) { kept_bodies_.push_back(std::move(body)); }

 private:
  friend class Frame;
  friend class Body;
  friend class Undo;
  friend class InheritedSourceInfo;
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
  bool has_symbol(const SymbolPtr& symbol) const;
  void add_symbol(const SymbolPtr& symbol);
  void import_symbol(const SymbolPtr& symbol);
  void add_requirement(const DimEquation& equation);
  Value add_leaf(std::string_view op, std::string_view name, const ValueType& type,
                 SourceLocation loc);
  Value add_input(std::string_view name, const ValueType& type, SourceLocation loc);
  // Adds a node to this graph, even if a body is being built in it.
  Node& add(const OpRecord& op, std::vector<Value> inputs, Attributes attributes,
            SourceLocation loc, std::uint32_t instance = 0);
  // These functions import symbols of enclosing graphs into a body that is being built.
  void check_symbols(const Dim& dim);
  void check_symbols(const Dim& dim, std::string_view what, SourceLocation loc);
  void check_type(const ValueType& type, std::string_view what, SourceLocation loc);
  // Replaces operands of enclosing graphs by captured values.
  void resolve_operands(const OpRecord& op, std::vector<Value>& inputs);
  bool can_capture(const Value& value) const;
  Value captured(const Value& value);
  Value copy_constant(const Value& value);
  // Describes why this graph cannot use `value`.
  std::string describe_foreign(const Value& value) const;
  // Returns the number of stream numbers that a node reserves, beginning at its attribute `stream`.
  std::int64_t streams_of(const OpRecord& op, const std::vector<Value>& inputs,
                          const Attributes& attributes) const;
  std::string operands_text(std::string_view op, const std::vector<Value>& inputs,
                            bool declared_names = false) const;
  std::string frames_text(int frame) const;
  /// Copies a frame of `source` and the frames around it to this graph. Returns the copied frame.
  int copy_frames(const Graph& source, int frame);
  /// Returns `loc` with a file name owned by this graph. The original string may be owned by
  /// another graph, which passes destroy, or by a plug-in.
  SourceLocation with_owned_file(SourceLocation loc);

  std::shared_ptr<const OpSet> ops_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_multimap<std::size_t, Node*> interned_;
  std::vector<Value> inputs_;
  std::unordered_map<std::string, std::size_t> input_index_;
  std::deque<VariableInfo> variables_;
  std::vector<Node*> variable_reads_;
  std::vector<Value> advanced_keys_;                             // indexed by variable
  std::unordered_map<std::string, std::size_t> variable_index_;  // keyed by name and alias
  std::unordered_map<const Node*, std::size_t> variable_of_read_;
  std::vector<SymbolPtr> symbols_;
  std::unordered_multimap<std::string_view, std::size_t> symbol_index_;  // keyed by symbol name
  std::vector<DimEquation> requirements_;
  std::unique_ptr<Facts> facts_;
  std::deque<Function> functions_;
  std::unordered_map<std::string, std::size_t> function_index_;
  std::int64_t next_stream_ = 1;
  bool draws_ = false;
  std::uint32_t next_instance_ = 1;

  std::map<std::string, Value, std::less<>> names_;
  std::unordered_map<Value, std::string, ValueHash> name_of_;
  std::vector<SourceInfo> source_infos_;               // indexed by node id
  std::unordered_map<std::size_t, double> unrounded_;  // keyed by node id
  std::vector<FrameRecord> frames_;
  /// The file names that source locations of this graph point to.
  std::deque<std::string> file_names_;
  /// Maps (source graph, frame) to the copied frame of this graph.
  std::map<std::pair<const void*, int>, int> copied_frames_;
  int frame_ = -1;
  Graph* body_ = nullptr;  // the body that a callback is building (see Body)
  // State of a body. The graph around it and its description remain known after it has been built.
  Graph* outer_ = nullptr;
  std::string body_name_;
  bool open_ = false;                                     // true while a callback builds this body
  Captures* captures_ = nullptr;                          // null if this body is closed
  std::unordered_map<Value, Value, ValueHash> captured_;  // inputs of this body by captured value
  std::vector<std::unique_ptr<Graph>> kept_bodies_;
  bool override_location_ = false;  // true while an InheritedSourceInfo exists
  SourceLocation location_;
};

/// Infers the output types of an op in `graph` with the op's shape rule, using the graph's
/// functions and requirements.
std::vector<ValueType> infer_types(const Graph& graph, const OpRecord& op,
                                   const std::vector<Value>& inputs, const Attributes& attributes);

}  // namespace weft
