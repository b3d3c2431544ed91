#include "weft/autodiff/scan_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "weft/autodiff/narrow.h"
#include "weft/graph/control/scan_node.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/clone.h"

namespace weft {
namespace {

using Index = std::size_t;
using Nodes = std::unordered_set<const Node*>;

// Returns `sources` and all nodes that depend on them and that `roots` are computed from.
Nodes dependents(const std::vector<Value>& roots, const Nodes& sources) {
  Nodes result = sources;
  for (const Node* n : reachable_nodes(roots)) {
    for (const Value& v : n->inputs()) {
      if (v.defined() && result.contains(v.node_pointer())) result.insert(n);
    }
  }
  return result;
}

Nodes nodes_of(const std::vector<Value>& values) {
  Nodes nodes;
  for (const Value& v : values) nodes.insert(v.node_pointer());
  return nodes;
}

class ScanGradient {
 public:
  ScanGradient(Node& node, const std::vector<Value>& cotangents, const std::vector<bool>& needed,
               const DifferentiateBody& differentiate)
      : node_(node),
        graph_(node.graph()),
        parts_(scan_node(node)),
        cotangents_(cotangents),
        needed_(needed),
        differentiate_(differentiate),
        carries_(parts_.carries.size()),
        sequences_(parts_.sequences.size()),
        joint_(open_copy(*parts_.function)) {}

  std::vector<Value> run() {
    find_active_carries();
    differentiate();
    find_residuals();
    const std::vector<Value> stacks = keep_residuals();
    return run_backwards(stacks);
  }

 private:
  bool is_carry(Index input) const { return input < carries_; }
  bool is_sequence(Index input) const { return input >= carries_ && input < carries_ + sequences_; }
  Value formal(Index input) const { return joint_.inputs[input]; }

  // Finds the carries through which gradients flow to wanted inputs; the backward loop needs no
  // cotangents of the other carries.
  void find_active_carries() {
    active_.assign(carries_, false);
    for (bool changed = true; changed;) {
      changed = false;
      Nodes sources;
      for (Index i = 0; i < joint_.inputs.size(); ++i) {
        const bool from = is_carry(i) ? active_[i] || needed_[i] : bool(needed_[i]);
        if (from && is_floating(formal(i).dtype())) sources.insert(formal(i).node_pointer());
      }
      const std::vector<Value> next(joint_.outputs.begin(),
                                    joint_.outputs.begin() + static_cast<std::ptrdiff_t>(carries_));
      const Nodes reached = dependents(next, sources);
      for (Index i = 0; i < carries_; ++i) {
        const bool is = is_floating(formal(i).dtype()) &&
                        (needed_[i] || reached.contains(next[i].node_pointer()));
        if (is && !active_[i]) active_[i] = changed = true;
      }
    }
  }

  // Builds the gradients of one step in the graph of the step.
  void differentiate() {
    Graph& body = *joint_.body;
    std::vector<Value> from, with;
    carry_cotangents_.resize(carries_);
    for (Index i = 0; i < carries_; ++i) {
      if (!active_[i]) continue;
      carry_cotangents_[i] = fresh_input(body, fmt::format("dcarry{}", i), formal(i).type());
      from.push_back(joint_.outputs[i]);
      with.push_back(carry_cotangents_[i]);
    }
    for (Index o = carries_; o < joint_.outputs.size(); ++o) {
      if (!cotangents_[o].defined()) continue;
      const Value& out = joint_.outputs[o];
      step_output_cotangents_.push_back(
          fresh_input(body, fmt::format("doutput{}", o - carries_), out.type()));
      stacked_output_cotangents_.push_back(cotangents_[o]);
      from.push_back(out);
      with.push_back(step_output_cotangents_.back());
    }
    std::vector<Index> inputs;
    std::vector<Value> wrt;
    for (Index i = 0; i < joint_.inputs.size(); ++i) {
      const bool wanted = is_carry(i) ? bool(active_[i]) : bool(needed_[i]);
      if (!wanted || !is_floating(formal(i).dtype())) continue;
      inputs.push_back(i);
      wrt.push_back(formal(i));
    }
    const std::vector<Value> found = differentiate_(body, from, with, wrt);
    gradients_.resize(joint_.inputs.size());
    for (Index i = 0; i < inputs.size(); ++i) gradients_[inputs[i]] = found[i];
    for (Index i = 0; i < carries_; ++i) {
      if (active_[i] && !gradients_[i].defined()) gradients_[i] = zeros_like(formal(i));
    }
  }

  std::vector<Value> wanted_gradients() const {
    std::vector<Value> roots;
    for (const Value& v : gradients_) {
      if (v.defined()) roots.push_back(v);
    }
    return roots;
  }

  // Returns true if recomputing `value` costs about as little as reading it: it depends on
  // sequences and operands alone, through ops that are elementwise or that a pass moves out of both
  // loops.
  bool can_repeat(const Value& value, const Nodes& of_carries) const {
    if (of_carries.contains(value.node_pointer())) return false;
    for (const Node* n : reachable_nodes({value})) {
      const OpRecord& op = n->op();
      const bool cheap = op.has(Trait::leaf) || op.has(Trait::elementwise) ||
                         op.has(Trait::alias) || op.has(Trait::random) || op.name == "matmul" ||
                         op.name == "key_fold" || op.name == "broadcast_to" || op.name == "slice" ||
                         op.name == "full" || op.name == "iota";
      if (!cheap) return false;
    }
    return true;
  }

  // Finds the residuals: the values of the step that its gradient reads and that the forward loop
  // has to store, because they are not recomputed.
  void find_residuals() {
    const std::vector<Value> roots = wanted_gradients();
    Nodes sources = nodes_of(step_output_cotangents_);
    for (const Value& v : carry_cotangents_) {
      if (v.defined()) sources.insert(v.node_pointer());
    }
    const Nodes of_cotangents = dependents(roots, sources);
    Nodes formals;
    for (Index i = 0; i < carries_; ++i) formals.insert(formal(i).node_pointer());
    const Nodes of_carries = dependents(roots, formals);
    std::unordered_set<Value, ValueHash> seen;
    std::vector<Value> pending;
    const auto meet = [&](const Value& v) {
      if (v.defined() && !of_cotangents.contains(v.node_pointer()) && seen.insert(v).second) {
        pending.push_back(v);
      }
    };
    for (const Value& v : roots) meet(v);
    for (const Node* n : reachable_nodes(roots)) {
      if (!of_cotangents.contains(n)) continue;
      for (const Value& v : n->inputs()) meet(v);
    }
    while (!pending.empty()) {
      const Value v = pending.back();
      pending.pop_back();
      if (v.node().op().name == "input") {
        if (formals.contains(v.node_pointer())) residuals_.push_back(v);
        continue;  // sequences and operands are available in the backward loop
      }
      // With `recompute`, only carries are stored.
      if (parts_.recompute || can_repeat(v, of_carries)) {
        for (const Value& input : v.node().inputs()) meet(input);
      } else {
        residuals_.push_back(v);
      }
    }
    std::sort(residuals_.begin(), residuals_.end(), [](const Value& a, const Value& b) {
      return std::pair(a.node().id(), a.output()) < std::pair(b.node().id(), b.output());
    });
  }

  // Builds the forward loop again with the residuals as additional outputs. Returns the stacked
  // values of each residual.
  std::vector<Value> keep_residuals() {
    std::vector<Value> stacks(residuals_.size());
    std::vector<Value> further;
    for (Index i = 0; i < residuals_.size(); ++i) {
      const auto begin = joint_.outputs.begin();
      const auto at = std::find(begin + static_cast<std::ptrdiff_t>(carries_), joint_.outputs.end(),
                                residuals_[i]);
      if (at != joint_.outputs.end()) {
        stacks[i] = node_.output(static_cast<int>(at - begin));
      } else {
        further.push_back(residuals_[i]);
      }
    }
    if (further.empty()) return stacks;
    Function forward;
    forward.name = parts_.function->name + ".forward";
    forward.body = empty_copy(*joint_.body);
    Cloner cloner(*forward.body);
    for (const Value& v : joint_.inputs) forward.inputs.push_back(cloner.copy(v));
    for (const Value& v : joint_.outputs) forward.outputs.push_back(cloner.copy(v));
    for (const Value& v : further) forward.outputs.push_back(cloner.copy(v));
    Node& made = apply_scan(graph_, add_body(graph_, std::move(forward), {}), parts_, {});
    int next = node_.output_count();
    for (Value& stack : stacks) {
      if (!stack.defined()) stack = made.output(next++);
    }
    return stacks;
  }

  // The body of the backward loop and its operands.
  struct Backward {
    Function f;
    ScanNode parts;
    std::vector<Value> sequences, operands;  // the corresponding values in the graph of the step
  };

  void add_known_inputs(Backward& b, const std::vector<Value>& stacks) {
    for (Index o = 0; o < step_output_cotangents_.size(); ++o) {
      b.sequences.push_back(step_output_cotangents_[o]);
      b.parts.sequences.push_back(stacked_output_cotangents_[o]);
    }
    for (Index r = 0; r < residuals_.size(); ++r) {
      b.sequences.push_back(residuals_[r]);
      b.parts.sequences.push_back(stacks[r]);
    }
    // Adds the forward sequences and operands that the gradient reads, and then the sequences and
    // operands that are needed to bind a symbol.
    std::vector<Value> roots = wanted_gradients();
    const std::unordered_set<Value, ValueHash> kept(residuals_.begin(), residuals_.end());
    Nodes read;
    std::vector<const Node*> stack;
    const auto visit = [&](const Value& v) {
      if (v.defined() && !kept.contains(v) && read.insert(v.node_pointer()).second) {
        stack.push_back(v.node_pointer());
      }
    };
    for (const Value& v : roots) visit(v);
    while (!stack.empty()) {
      const Node* n = stack.back();
      stack.pop_back();
      for (const Value& v : n->inputs()) visit(v);
    }
    std::unordered_set<SymbolPtr> bound;
    const auto bind = [&](const Value& v) {
      for (const Dim& d : v.shape()) {
        if (const SymbolPtr s = d.as_symbol()) bound.insert(s);
      }
    };
    for (const Value& v : carry_cotangents_) {
      if (v.defined()) bind(v);
    }
    for (const Value& v : b.sequences) bind(v);
    const auto binds_more = [&](const Value& v) {
      return std::any_of(v.shape().begin(), v.shape().end(), [&](const Dim& d) {
        const SymbolPtr s = d.as_symbol();
        return s != nullptr && bound.count(s) == 0;
      });
    };
    for (int pass = 0; pass < 2; ++pass) {
      for (Index i = 0; i < joint_.inputs.size(); ++i) {
        const Value v = formal(i);
        const bool wanted = pass == 0 ? !is_carry(i) && read.contains(v.node_pointer())
                                      : binds_more(v) && added_.count(i) == 0;
        if (!wanted) continue;
        added_.insert(i);
        bind(v);
        if (is_sequence(i)) {
          b.sequences.push_back(v);
          b.parts.sequences.push_back(parts_.sequences[i - carries_]);
        } else {
          b.operands.push_back(v);
          b.parts.operands.push_back(node_.input(i));
        }
      }
    }
  }

  std::vector<Value> run_backwards(const std::vector<Value>& stacks) {
    Backward b;
    add_known_inputs(b, stacks);
    Function& f = b.f;
    f.name = parts_.function->name + ".gradient";
    f.body = empty_copy(*joint_.body);
    Graph& body = *f.body;

    // Inputs in order: cotangents of carries, gradient sums of operands, sequences, operands.
    Cloner cloner(body);
    const auto declare = [&](const Value& v, const char* what, Index number) {
      const Value input = fresh_input(body, fmt::format("{}{}", what, number), v.type());
      f.inputs.push_back(input);
      return input;
    };
    for (Index i = 0; i < carries_; ++i) {
      if (!active_[i]) continue;
      cloner.set(carry_cotangents_[i], declare(carry_cotangents_[i], "dcarry", i));
      const Value& given = cotangents_[i];
      b.parts.carries.push_back(given.defined() ? given : zeros_like(parts_.carries[i]));
    }
    std::vector<Value> sums(joint_.inputs.size());
    for (Index i = carries_ + sequences_; i < joint_.inputs.size(); ++i) {
      if (!gradients_[i].defined()) continue;
      // Gradients of 16-bit operands are summed in f32.
      const DType dtype = is_narrow(formal(i)) ? DType::f32 : formal(i).dtype();
      const ValueType type{dtype, formal(i).shape()};
      sums[i] = fresh_input(body, fmt::format("sum{}", i - carries_ - sequences_), type);
      f.inputs.push_back(sums[i]);
      b.parts.carries.push_back(zeros(graph_, dtype, node_.input(i).shape()));
    }
    for (Index i = 0; i < b.sequences.size(); ++i) {
      cloner.set(b.sequences[i], declare(b.sequences[i], "element", i));
    }
    for (Index i = 0; i < b.operands.size(); ++i) {
      cloner.set(b.operands[i], declare(b.operands[i], "operand", i));
    }

    std::vector<Index> of_sequences;
    for (Index i = 0; i < carries_; ++i) {
      if (active_[i]) f.outputs.push_back(as_type(cloner.copy(gradients_[i]), formal(i).dtype()));
    }
    for (Index i = 0; i < joint_.inputs.size(); ++i) {
      if (!sums[i].defined()) continue;
      f.outputs.push_back(add(sums[i], as_type(cloner.copy(gradients_[i]), sums[i].dtype())));
    }
    for (Index i = carries_; i < carries_ + sequences_; ++i) {
      if (!gradients_[i].defined()) continue;
      of_sequences.push_back(i);
      f.outputs.push_back(as_type(cloner.copy(gradients_[i]), formal(i).dtype()));
    }
    if (f.outputs.empty()) return std::vector<Value>(node_.inputs().size());

    b.parts.length = parts_.length;
    b.parts.reverse = !parts_.reverse;
    b.parts.recompute = parts_.recompute;
    b.parts.stream = parts_.stream;
    Node& made = apply_scan(graph_, add_body(graph_, std::move(f), {}), b.parts, {});
    return collect(made, sums, of_sequences);
  }

  std::vector<Value> collect(Node& made, const std::vector<Value>& sums,
                             const std::vector<Index>& of_sequences) const {
    std::vector<Value> result(node_.inputs().size());
    int next = 0;
    for (Index i = 0; i < carries_; ++i) {
      if (!active_[i]) continue;
      const Value v = made.output(next++);
      if (needed_[i]) result[i] = v;
    }
    for (Index i = 0; i < sums.size(); ++i) {
      if (sums[i].defined()) result[i] = as_type(made.output(next++), node_.input(i).dtype());
    }
    for (const Index i : of_sequences) result[i] = made.output(next++);
    return result;
  }

  static Value as_type(const Value& v, DType dtype) {
    return v.dtype() == dtype ? v : cast(v, dtype);
  }

  Node& node_;
  Graph& graph_;
  const ScanNode parts_;
  const std::vector<Value>& cotangents_;
  const std::vector<bool>& needed_;
  const DifferentiateBody& differentiate_;
  const Index carries_, sequences_;
  Function joint_;                             // the step and its gradient
  std::vector<bool> active_;                   // one per carry
  std::vector<Value> carry_cotangents_;        // cotangents of new carries, undefined if not active
  std::vector<Value> step_output_cotangents_;  // defined cotangents of outputs, in the step
  std::vector<Value> stacked_output_cotangents_;  // their values for all steps, in the outer graph
  std::vector<Value> gradients_;                  // one per input of the step
  std::vector<Value> residuals_;
  std::unordered_set<Index> added_;  // inputs of the step that the backward loop also reads
};

}  // namespace

std::vector<Value> scan_gradient(Node& node, const std::vector<Value>& cotangents,
                                 const std::vector<bool>& needed,
                                 const DifferentiateBody& differentiate) {
  return ScanGradient(node, cotangents, needed, differentiate).run();
}

}  // namespace weft
