// A graph that grows by random ops, with the values of everything in it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/graph/run/results.h"
#include "weft/tests/programs/generate.h"
#include "weft/tests/programs/random_source.h"

namespace weft::testing {

/// What the values of a program are like.
struct Temper {
  bool grid = false;    // multiples of 1/2: ties, exact comparisons
  bool wild = false;    // infinities, NaN, zeros of both signs, extreme integers
  bool smooth = false;  // for gradients: nothing narrow, no ties
  bool bold = false;    // runs after the first may have data or sizes that are refused
  std::vector<const OpRecord*> records;  // that ops are drawn from: few, so that they meet often
  std::vector<DType> dtypes;             // of leaves and casts; all where empty
  std::int64_t most = 3000;              // elements of a value
};

/// What can stand in a graph: everything but inputs, variables and calls.
const std::vector<const OpRecord*>& drawable_records();
/// Grows one graph: the program's, or the body of a function. All values are known for every one of
/// `runs` feeds.
class Builder {
 public:
  /// A value with what it is in every run.
  struct Entry {
    Value value;
    std::vector<Tensor> tensors;
  };

  Builder(Graph& graph, RandomSource& random, const Temper& temper, Coverage& coverage,
          std::size_t runs)
      : graph_(graph), random_(random), temper_(temper), coverage_(coverage), bindings_(runs) {}

  Graph& graph() { return graph_; }
  RandomSource& random() { return random_; }
  std::vector<Entry>& pool() { return pool_; }
  std::size_t runs() const { return bindings_.size(); }
  /// Known values that ops may use from now on.
  void add(Value value, std::vector<Tensor> tensors);
  void bind(const SymbolPtr& symbol, std::size_t run, std::int64_t size) {
    bindings_[run].bind(symbol, size);
  }
  const std::vector<Bindings>& bindings() const { return bindings_; }
  const std::vector<Tensor>* find(Value value) const;

  /// One more op (or a few, where operands had to be made); false if none was found.
  bool grow();
  /// An op on given operands, evaluated: its node, or null where shape rule or data refuse.
  Node* apply(const OpRecord& op, const std::vector<Value>& inputs, const Attributes& attributes);
  Node* apply(std::string_view op, const std::vector<Value>& inputs,
              const Attributes& attributes = {});
  /// Evaluates all nodes that were added to the graph behind the builder's back; false where one
  /// cannot be.
  bool evaluate_new(bool into_pool);
  /// A value of this type: one that is there, or a new leaf, perhaps mixed with one that is there.
  /// `like` gives the range of integers.
  Value obtain(DType dtype, const Shape& shape, const Tensor& like);
  /// A leaf of random data: a constant, and for the program's graph also an input or a variable.
  Value leaf(DType dtype, const Shape& shape, const Tensor& like = {});
  /// A new variable with random data; the graph must declare.
  Value state(VariableKind kind, DType dtype, const Shape& shape);
  /// Wishes that the program update a variable; a second wish counts for nothing.
  void update(Value variable, Value value) { updates.emplace_back(variable, value); }
  std::vector<std::pair<Value, Value>> updates;
  /// Random data for `sizes`.
  Tensor data(DType dtype, const Sizes& sizes, const Tensor& like = {});
  DType any_dtype();
  /// A random key: own_key, or a new one where the graph may declare it, or one made of it; else
  /// undefined.
  Value key();
  Value own_key;

  /// What the program's graph declared.
  NamedTensors variables;
  std::vector<NamedTensors> feeds;
  bool declares = false;  // inputs and variables may be made

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
  bool tame(const Tensor& t) const;

  Graph& graph_;
  RandomSource& random_;
  const Temper& temper_;
  Coverage& coverage_;
  std::vector<Bindings> bindings_;
  std::vector<Entry> pool_;
  std::unordered_map<Value, std::vector<Tensor>, ValueHash> known_;
  std::set<const Node*> refused_, pooled_;
  std::size_t evaluated_ = 0;
  int leaves_ = 0, keys_ = 0;
};

}  // namespace weft::testing
