// Hoisting: moves computations that do not depend on carries out of loops.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/ir/clone.h"
#include "weft/graph/passes/loop.h"
#include "weft/graph/passes/match.h"

namespace weft {
namespace {

using Index = std::size_t;

// The strongest dependence of a value in a loop body.
enum class Dependence : std::uint8_t {
  operands,   // the value is the same in every iteration
  sequences,  // the value can be computed for all iterations at once
  carries,    // the value must be computed iteration by iteration
};

class Hoister {
 public:
  explicit Hoister(Loop& loop) : loop_(loop), body_(*loop.body.body) {}

  void run() {
    classify();
    find_frontier();
    if (elements_.empty() && constants_.empty() && !lifts_outputs()) return;
    std::vector<Value> outputs;
    for (Index o = 0; o < loop_.body.outputs.size(); ++o) {
      const Value v = loop_.body.outputs[o];
      if (o >= loop_.carries() && is_lifted(v)) {
        loop_.done[o] = lift(v);
        continue;
      }
      loop_.result[o] = static_cast<int>(outputs.size());
      outputs.push_back(v);
    }
    for (const Value& v : elements_) lifted_formals_.push_back(lift(v));
    for (const Value& v : constants_) constant_formals_.push_back(copy_outside(v));
    loop_.parts.sequences.insert(loop_.parts.sequences.end(), lifted_formals_.begin(),
                                 lifted_formals_.end());
    loop_.parts.operands.insert(loop_.parts.operands.end(), constant_formals_.begin(),
                                constant_formals_.end());
    loop_.rebuild(elements_, constants_, outputs);
  }

 private:
  Dependence dependence_of(const Value& v) const { return dependence_.at(v.node_pointer()); }

  static bool is_repeatable(const Node& n) {
    const OpRecord& op = n.op();
    return !op.has_bodies() && !op.has(Trait::random) && !op.has(Trait::opaque);
  }

  void classify() {
    nodes_ = reachable_nodes(loop_.body.outputs);
    const auto& inputs = loop_.body.inputs;
    for (Index i = 0; i < inputs.size(); ++i) {
      dependence_[inputs[i].node_pointer()] = i < loop_.carries()         ? Dependence::carries
                                              : i < loop_.first_operand() ? Dependence::sequences
                                                                          : Dependence::operands;
    }
    for (const Node* n : nodes_) {
      if (dependence_.count(n) != 0) continue;
      Dependence kind = Dependence::operands;
      for (const Value& v : n->inputs()) {
        if (v.defined()) kind = std::max(kind, dependence_of(v));
      }
      if (!is_repeatable(*n) || (kind == Dependence::sequences && !can_lift(*n)) ||
          (kind == Dependence::operands && !runs_at_least_once_ && may_reject_data(*n))) {
        kind = Dependence::carries;
      }
      dependence_[n] = kind;
      if (kind != Dependence::sequences) continue;
      // Hoists only products, lookups and the ops that read their results: other ops are equally
      // fast inside the loop, and hoisting them would need memory for all iterations.
      bool heavy = n->op().name == "matmul" || n->op().name == "take";
      for (const Value& v : n->inputs())
        heavy = heavy || (v.defined() && heavy_.contains(v.node_pointer()));
      if (heavy) heavy_.insert(n);
    }
  }

  bool can_lift(const Node& n) const {
    const OpRecord& op = n.op();
    if (n.output_count() != 1) return false;
    if (op.has(Trait::elementwise)) return true;
    if (op.name == "reshape") return true;
    if (op.name == "matmul") {
      const Value a = n.inputs()[0], b = n.inputs()[1];
      return dependence_of(a) == Dependence::sequences &&
             dependence_of(b) == Dependence::operands && a.rank() >= 2 && b.rank() == 2 &&
             !n.attributes().flag("transpose_a");
    }
    if (op.name == "take") {
      return dependence_of(n.inputs()[0]) == Dependence::operands &&
             n.attributes().integer("axis") == 0;
    }
    return false;
  }

  bool is_lifted(const Value& v) const { return heavy_.contains(v.node_pointer()); }
  bool lifts_outputs() const {
    return std::any_of(loop_.body.outputs.begin() + static_cast<std::ptrdiff_t>(loop_.carries()),
                       loop_.body.outputs.end(), [&](const Value& v) { return is_lifted(v); });
  }

  // Returns true if the node is expensive enough to justify an additional operand of the loop.
  // Leaves, views and values that are generated from little data are not.
  static bool is_worth_hoisting(const Node& n) {
    const OpRecord& op = n.op();
    return !op.has(Trait::leaf) && !op.has(Trait::alias) && op.name != "broadcast_to" &&
           op.name != "full" && op.name != "iota" && op.name != "dim_value";
  }

  void visit(const Value& v) {
    if (!v.defined() || !seen_.insert(v).second) return;
    const Node& n = v.node();
    if (dependence_of(v) == Dependence::sequences && is_lifted(v)) {
      elements_.push_back(v);
    } else if (dependence_of(v) == Dependence::operands && n.op().name != "input") {
      if (is_worth_hoisting(n)) {
        constants_.push_back(v);
      } else {
        for (const Value& input : n.inputs()) visit(input);
      }
    }
  }

  // Collects the hoisted values that the remaining body reads.
  void find_frontier() {
    for (const Value& v : loop_.body.outputs) {
      const Index o = static_cast<Index>(&v - loop_.body.outputs.data());
      if (o < loop_.carries() || !is_lifted(v)) visit(v);
    }
    for (const Node* n : nodes_) {
      if (dependence_.at(n) == Dependence::operands || heavy_.contains(n)) continue;
      for (const Value& v : n->inputs()) visit(v);
    }
  }

  // Copies a value that is the same in every iteration out of the loop.
  Value copy_outside(const Value& v) {
    if (cloner_ == nullptr) {
      symbols_ = bind_symbols(loop_.body, element_types(loop_.parts));
      CloneOptions options;
      options.map_symbol = symbols_.lookup();
      cloner_ = std::make_unique<Cloner>(loop_.target, std::move(options));
      const Index first = loop_.first_operand();
      for (Index i = first; i < loop_.body.inputs.size(); ++i) {
        cloner_->set(loop_.body.inputs[i], loop_.parts.operands[i - first]);
      }
    }
    return cloner_->copy(v);
  }

  Shape all_steps(const Shape& of_step, int rank) {
    copy_outside({});
    std::vector<Dim> dims = {loop_.parts.length};
    for (int i = of_step.rank(); i < rank; ++i) dims.emplace_back(1);
    for (const Dim& d : of_step) dims.push_back(symbols_.apply(d));
    return Shape(std::move(dims));
  }

  // Computes a value for all iterations outside the loop: [length, ...]. The recursion is shallow,
  // because bodies are small.
  Value lift(const Value& v) {
    if (const auto it = lifted_.find(v); it != lifted_.end()) return it->second;
    copy_outside({});
    const Node& n = v.node();
    const auto& inputs = loop_.body.inputs;
    Value result;
    if (const auto at = std::find(inputs.begin(), inputs.end(), v); at != inputs.end()) {
      result = loop_.parts.sequences[static_cast<Index>(at - inputs.begin()) - loop_.carries()];
    } else {
      std::vector<Value> operands;
      for (const Value& input : n.inputs()) {
        if (!input.defined()) {
          operands.emplace_back();
        } else if (dependence_of(input) == Dependence::operands) {
          operands.push_back(copy_outside(input));
        } else {
          Value all = lift(input);
          if (n.op().has(Trait::elementwise) && input.rank() < v.rank()) {
            all = loop_.target
                      .apply("reshape", {all}, {{"shape", all_steps(input.shape(), v.rank())}}, {})
                      .output(0);
          }
          operands.push_back(all);
        }
      }
      Attributes attributes = n.attributes().substitute(symbols_.lookup());
      if (n.op().name == "reshape") attributes.set("shape", all_steps(v.shape(), 0));
      const std::size_t before = loop_.target.node_count();
      Node& made = loop_.target.apply(n.op(), std::move(operands), std::move(attributes), {}, 0);
      if (loop_.target.node_count() != before) loop_.target.copy_source_info(n, made);
      result = made.output(v.output());
    }
    lifted_.emplace(v, result);
    return result;
  }

  Loop& loop_;
  Graph& body_;
  // True if the loop runs at least one iteration. A loop without iterations must not reject data,
  // even if the loop body would reject it.
  const bool runs_at_least_once_ = Dim::provably_le(1, loop_.parts.length);
  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, Dependence> dependence_;
  std::unordered_set<const Node*> heavy_;  // computed for all iterations at once
  std::unordered_set<Value, ValueHash> seen_;
  std::vector<Value> elements_, constants_;
  std::vector<Value> lifted_formals_, constant_formals_;
  std::unordered_map<Value, Value, ValueHash> lifted_;
  SymbolMap symbols_;
  std::unique_ptr<Cloner> cloner_;
};

}  // namespace

void hoist(Loop& loop) { Hoister(loop).run(); }

}  // namespace weft
