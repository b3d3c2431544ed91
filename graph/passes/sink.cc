// Sinking: replaces sums that a loop accumulates in a carry with one product or sum over all
// iterations after the loop. Weight gradients have this form. Products that the loop only outputs
// are also moved after the loop, if the loop outputs their operands for such a sum anyway. Input
// gradients have this form.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/passes/loop.h"

namespace weft {
namespace {

using Index = std::size_t;

// A carry that has no other readers and is updated by adding `term` to the old value.
struct SumCarry {
  Index carry;
  const Node* term;  // matmul of two matrices with transpose_a, or sum; its result may be reshaped
};

std::unordered_map<Value, int, ValueHash> count_readers(const Function& f) {
  std::unordered_map<Value, int, ValueHash> readers;
  for (const Node* n : reachable_nodes(f.outputs)) {
    for (const Value& v : n->inputs()) {
      if (v.defined()) ++readers[v];
    }
  }
  for (const Value& v : f.outputs) ++readers[v];
  return readers;
}

bool is_product(const Node& n) {
  return n.op().name == "matmul" && n.inputs()[0].rank() == 2 && n.inputs()[1].rank() == 2 &&
         n.attributes().flag("transpose_a") && !n.attributes().flag("transpose_b");
}

std::vector<SumCarry> find_sums(const Loop& loop) {
  const Function& f = loop.body;
  const auto readers = count_readers(f);
  std::vector<SumCarry> sums;
  for (Index i = 0; i < loop.carries(); ++i) {
    const Node& n = f.outputs[i].node();
    if (n.op().name != "add" || readers.at(f.outputs[i]) != 1) continue;
    const Value carry = f.inputs[i], a = n.inputs()[0], b = n.inputs()[1];
    if (!(a == carry) && !(b == carry)) continue;
    const auto read = readers.find(carry);
    if (read == readers.end() || read->second != 1) continue;
    const Value term = a == carry ? b : a;
    if (!(term.type() == carry.type())) continue;
    const Node* shaped = term.node_pointer();
    while (shaped->op().name == "reshape") shaped = shaped->inputs()[0].node_pointer();
    const Node& t = *shaped;
    if (!is_product(t) && t.op().name != "sum") continue;
    // Excludes terms with an operand that is the same in every iteration: stacking such an operand
    // would waste memory.
    const auto same = [&](const Value& v) {
      const auto at = std::find(f.inputs.begin(), f.inputs.end(), v);
      return at != f.inputs.end() &&
             static_cast<Index>(at - f.inputs.begin()) >= loop.first_operand();
    };
    if (std::none_of(t.inputs().begin(), t.inputs().end(), same)) sums.push_back({i, &t});
  }
  return sums;
}

class Sinker {
 public:
  Sinker(Loop& loop, std::vector<SumCarry> sums) : loop_(loop), sums_(std::move(sums)) {}

  void run() {
    find_stacks();
    find_products();
    // The remaining outputs, followed by the per-iteration values that the sums are computed from.
    std::vector<Value> outputs;
    for (Index o = 0; o < loop_.body.outputs.size(); ++o) {
      if (!is_sum(o) && products_.count(o) == 0) outputs.push_back(loop_.body.outputs[o]);
    }
    first_stack_ = outputs.size();
    outputs.insert(outputs.end(), stacks_.begin(), stacks_.end());
    const std::vector<Value> starts = loop_.parts.carries, old_outputs = loop_.body.outputs;
    remove_carries(outputs);
    if (!outputs.empty()) {
      made_ = &apply_scan(loop_.target, add_body(loop_.target, std::move(loop_.body), {}),
                          loop_.parts, {});
    }
    std::vector<Value> results(old_outputs.size());  // indexed by output of the old body
    int next = 0;
    for (Index o = 0; o < old_outputs.size(); ++o) {
      if (products_.count(o) != 0) {
        results[o] = product_of_all_steps(old_outputs[o].node());
      } else if (!is_sum(o)) {
        results[o] = made_->output(next++);
      }
    }
    for (const SumCarry& sum : sums_) {
      const Value start = starts[sum.carry];
      results[sum.carry] = add(start, reshape(sum_of_all_steps(*sum.term), start.shape()));
    }
    for (Index o = 0; o < loop_.done.size(); ++o) {
      if (!loop_.done[o].defined()) {
        loop_.done[o] = results[static_cast<Index>(loop_.result[o])];
      }
    }
    loop_.changed = true;
  }

 private:
  static Index index_of(const std::vector<Value>& list, const Value& v) {
    return static_cast<Index>(std::find(list.begin(), list.end(), v) - list.begin());
  }

  // Returns the index of an input of the original body, or the number of inputs if `v` is not one.
  Index input_of(const Value& v) const { return index_of(inputs_, v); }
  bool is_sequence(const Value& v) const {
    return input_of(v) >= carries_ && input_of(v) < first_operand_;
  }
  bool is_operand(const Value& v) const {
    return input_of(v) >= first_operand_ && input_of(v) < inputs_.size();
  }
  bool is_sum(Index output) const {
    return std::any_of(sums_.begin(), sums_.end(),
                       [&](const SumCarry& sum) { return sum.carry == output; });
  }
  bool is_stacked(const Value& v) const {
    return is_sequence(v) || index_of(stacks_, v) < stacks_.size();
  }

  void find_stacks() {
    for (const SumCarry& sum : sums_) {
      for (const Value& v : sum.term->inputs()) {
        if (!is_stacked(v)) stacks_.push_back(v);
      }
    }
  }

  void find_products() {
    const auto readers = count_readers(loop_.body);
    for (Index o = carries_; o < loop_.body.outputs.size(); ++o) {
      const Value v = loop_.body.outputs[o];
      const Node& n = v.node();
      if (n.op().name != "matmul" || n.attributes().flag("transpose_a")) continue;
      const Value a = n.inputs()[0], b = n.inputs()[1];
      if (readers.at(v) == 1 && is_stacked(a) && a.rank() >= 2 && is_operand(b) && b.rank() == 2) {
        products_.insert(o);
      }
    }
  }

  void remove_carries(const std::vector<Value>& outputs) {
    std::vector<Value> inputs, carries;
    for (Index i = 0; i < inputs_.size(); ++i) {
      if (is_sum(i)) continue;
      inputs.push_back(inputs_[i]);
      if (i < carries_) carries.push_back(loop_.parts.carries[i]);
    }
    loop_.body.inputs = std::move(inputs);
    loop_.body.outputs = outputs;
    loop_.parts.carries = std::move(carries);
    // Drops the carries and the nodes that only the sums needed.
    std::vector<bool> stay(loop_.body.inputs.size(), false), left;
    Function rest = without_unused_inputs(loop_.body, stay, left);
    loop_.kept.push_back(std::move(loop_.body.body));  // owns the nodes of the terms
    loop_.body = std::move(rest);
  }

  // Returns the stacked values of all iterations: [length, ...].
  Value all_steps(const Value& v) const {
    if (is_sequence(v)) return loop_.parts.sequences[input_of(v) - carries_];
    return made_->output(static_cast<int>(first_stack_ + index_of(stacks_, v)));
  }

  Value apply_like(const Node& like, std::vector<Value> inputs, Attributes attributes) {
    const std::size_t before = loop_.target.node_count();
    Node& made = loop_.target.apply(like.op(), std::move(inputs), std::move(attributes), {}, 0);
    if (loop_.target.node_count() != before) loop_.target.copy_source_info(like, made);
    return made.output(0);
  }

  Value product_of_all_steps(const Node& product) {
    const Value b = loop_.parts.operands[input_of(product.inputs()[1]) - first_operand_];
    return apply_like(product, {all_steps(product.inputs()[0]), b}, product.attributes());
  }

  Value sum_of_all_steps(const Node& term) {
    if (term.op().name == "sum") {
      std::vector<std::int64_t> axes = {0};
      for (const std::int64_t axis : term.attributes().integers("axes")) axes.push_back(axis + 1);
      return apply_like(term, {all_steps(term.inputs()[0])}, {{"axes", axes}, {"keepdims", false}});
    }
    // The sum of A^T B over all iterations is one product over all rows.
    const auto rows = [&](const Value& v) {
      const Value steps = all_steps(v);
      return reshape(steps, Shape{steps.shape()[0] * steps.shape()[1], steps.shape()[2]});
    };
    return apply_like(term, {rows(term.inputs()[0]), rows(term.inputs()[1])}, term.attributes());
  }

  Loop& loop_;
  const std::vector<SumCarry> sums_;
  const std::vector<Value> inputs_ = loop_.body.inputs;  // inputs of the original body
  const Index carries_ = loop_.carries(), first_operand_ = loop_.first_operand();
  std::vector<Value> stacks_;  // values that become stacked outputs
  Index first_stack_ = 0;      // output of the new loop that is stacks_[0]
  std::set<Index> products_;   // outputs of the original body that move after the loop
  Node* made_ = nullptr;
};

}  // namespace

void sink(Loop& loop) {
  std::vector<SumCarry> sums = find_sums(loop);
  if (!sums.empty()) Sinker(loop, std::move(sums)).run();
}

}  // namespace weft
