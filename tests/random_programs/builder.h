// Builds a graph of random ops and stores the value of every node.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/engine/results.h"
#include "weft/graph/ir/graph.h"
#include "weft/tests/random_programs/generate.h"
#include "weft/tests/random_programs/random_source.h"

namespace weft::testing {

/// Options for the values and ops of a random program.
struct GeneratorOptions {
  /// Values are multiples of 1/2, which causes ties and exact comparisons.
  bool grid = false;
  /// Values include infinities, NaNs, zeros of both signs and extreme integers.
  bool extreme_values = false;
  /// For gradients: excludes narrow dtypes and ties.
  bool smooth = false;
  /// Runs after the first may have data or sizes that cause errors.
  bool allow_errors = false;
  /// The records from which ops are drawn. The set is small, so that combinations of its members
  /// are frequent.
  std::vector<const OpRecord*> records;
  /// The dtypes of leaves and casts; all dtypes if empty.
  std::vector<DType> dtypes;
  /// The maximum number of elements of a value.
  std::int64_t most = 3000;
};

/// Returns the records that can be drawn: all except inputs, variables and calls.
const std::vector<const OpRecord*>& drawable_records();
/// Builds one graph, which is either the program's graph or the body of a function. All values are
/// known for each of the `runs` feeds.
class Builder {
 public:
  /// A value with its tensors in all runs.
  struct Entry {
    Value value;
    std::vector<Tensor> tensors;
  };

  Builder(Graph& graph, RandomSource& random, const GeneratorOptions& options, Coverage& coverage,
          std::size_t runs)
      : graph_(graph), random_(random), options_(options), coverage_(coverage), bindings_(runs) {}

  Graph& graph() { return graph_; }
  RandomSource& random() { return random_; }
  std::vector<Entry>& pool() { return pool_; }
  std::size_t runs() const { return bindings_.size(); }
  /// Adds a value with known tensors that later ops may use.
  void add(Value value, std::vector<Tensor> tensors);
  void bind(const SymbolPtr& symbol, std::size_t run, std::int64_t size) {
    bindings_[run].bind(symbol, size);
  }
  const std::vector<Bindings>& bindings() const { return bindings_; }
  const std::vector<Tensor>* find(Value value) const;

  /// Adds one op, or a few if operands have to be created. Returns false if no op was found.
  bool grow();
  /// Applies an op to the given operands and evaluates it. Returns its node, or null if the shape
  /// rule rejects the operands or the data is invalid.
  Node* apply(const OpRecord& op, const std::vector<Value>& inputs, const Attributes& attributes);
  Node* apply(std::string_view op, const std::vector<Value>& inputs,
              const Attributes& attributes = {});
  /// Evaluates all nodes that were added to the graph directly, without the builder. Returns false
  /// if a node cannot be evaluated.
  bool evaluate_new(bool into_pool);
  /// Returns a value of this type: an existing value, or a new leaf, in some cases combined with an
  /// existing value. `like` determines the range of integers.
  Value obtain(DType dtype, const Shape& shape, const Tensor& like);
  /// Creates a leaf with random data. The leaf is a constant or, in the program's graph, possibly
  /// an input or a variable.
  Value leaf(DType dtype, const Shape& shape, const Tensor& like = {});
  /// Creates a variable with random data. Requires `declares`.
  Value state(VariableKind kind, DType dtype, const Shape& shape);
  /// Requests an update of a variable by the program. Later requests for the same variable are
  /// ignored.
  void update(Value variable, Value value) { updates.emplace_back(variable, value); }
  std::vector<std::pair<Value, Value>> updates;
  /// Returns random data of the given sizes.
  Tensor data(DType dtype, const Sizes& sizes, const Tensor& like = {});
  DType any_dtype();
  /// Returns a random key: own_key, a new key if the graph may declare one, or a key folded from
  /// own_key. The result is undefined if no key exists.
  Value key();
  Value own_key;

  /// The variables and feeds declared in the program's graph.
  NamedTensors variables;
  std::vector<NamedTensors> feeds;
  /// True if inputs and variables may be created.
  bool declares = false;

 private:
  Value declare(VariableKind kind, const std::string& name, const Tensor& start);
  const OpRecord* draw_record();
  Node* try_free(const OpRecord& op);
  Node* try_sample(const OpRecord& op);
  Node* try_sample(const OpRecord& op, const OpSample& sample, bool same_sizes);
  Value pick_operand(const std::vector<Value>& before, const InputSpec& spec);
  Attributes random_attributes(const OpRecord& op, const std::vector<Value>& inputs);
  Attribute random_attribute(const OpRecord& op, const AttributeSpec& spec,
                             const std::vector<Value>& inputs);
  Shape random_shape(const std::vector<Value>& inputs);
  Dim random_dim();
  bool evaluate(Node& node);
  bool is_within_limits(const Tensor& t) const;

  Graph& graph_;
  RandomSource& random_;
  const GeneratorOptions& options_;
  Coverage& coverage_;
  std::vector<Bindings> bindings_;
  std::vector<Entry> pool_;
  std::unordered_map<Value, std::vector<Tensor>, ValueHash> known_;
  std::set<const Node*> refused_, pooled_;
  std::size_t evaluated_ = 0;
  int leaves_ = 0, keys_ = 0;
};

}  // namespace weft::testing
