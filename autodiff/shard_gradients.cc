#include "weft/autodiff/shard_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "weft/autodiff/narrow.h"
#include "weft/core/error.h"
#include "weft/graph/distributed/per_shard.h"
#include "weft/graph/functions/add_into.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"
#include "weft/graph/ir/program.h"

namespace weft {
namespace {

// A sweep that continues through sums over shards. Values after such a sum exist once per step,
// values before it once per shard; the same holds for their gradients. If the shards read a value
// that exists once per step (a variable, or an earlier sum over shards), its gradient is the sum of
// the per-shard gradients.
class ShardedSweep {
 public:
  ShardedSweep(Graph& graph, BackwardSweep sweep, const std::vector<Node*>& nodes,
               const std::vector<Value>& wrt, const std::vector<Value>& joined)
      : graph_(graph), sweep_(sweep), parts_(nodes) {
    for (Node* sum : parts_.sums()) sums_.push_back(sum->output(0));
    for (Node* concat : parts_.concats()) concats_.push_back(concat->output(0));
    wrt_.insert(wrt.begin(), wrt.end());
    joined_.insert(joined.begin(), joined.end());
    for (const Node* node : nodes) {
      if (node->op().gradient == Gradient::none) continue;
      const std::span<const Value> in = node->inputs();
      if (std::any_of(in.begin(), in.end(), [&](const Value& v) { return depends(v); }))
        dependent_.insert(node);
    }
  }

  std::vector<Value> run(const std::vector<Value>& outputs, const std::vector<Value>& cotangents,
                         const std::vector<Value>& wrt, bool in_shard) {
    std::vector<Value> targets = wrt;
    targets.insert(targets.end(), sums_.begin(), sums_.end());
    targets.insert(targets.end(), concats_.begin(), concats_.end());
    std::vector<Value> found = sweep_(outputs, cotangents, targets);
    reject_concats(std::span(found).last(concats_.size()));
    if (in_shard) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (!found[i].defined()) continue;
        if (!parts_.varies(targets[i])) {
          found[i] = sum_over_shards(found[i]);
        } else if (joined_.contains(targets[i])) {
          found[i] = concat_over_shards(targets[i], found[i]);
        }
      }
    }
    std::vector<Value> from, with;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!found[wrt.size() + i].defined() || !depends(sums_[i].node().input(0))) continue;
      from.push_back(sums_[i].node().input(0));
      with.push_back(found[wrt.size() + i]);
    }
    found.resize(wrt.size());
    if (from.empty()) return found;
    // The divisor of a mean over shards is known only after all shards have run. A single scalar
    // sum is therefore differentiated with cotangent 1, and the gradients are scaled once after the
    // sum over shards; otherwise every shard would have to run twice.
    const Value scale = from.size() == 1 && from[0].rank() == 0 ? with[0] : Value();
    if (scale.defined()) with[0] = graph_.scalar(scale.dtype(), 1, {});
    std::vector<Value> before = run(from, with, wrt, true);
    for (Value& v : before) {
      if (scale.defined() && v.defined()) v = scaled(v, scale);
    }
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      if (!found[i].defined()) {
        found[i] = before[i];
      } else if (before[i].defined()) {
        found[i] = add_into(found[i], before[i]);
      }
    }
    return found;
  }

 private:
  // Throws if a gradient reaches the result of a shard_concat(): that value exists once per step
  // and does not record which rows belong to which shard.
  void reject_concats(std::span<const Value> found) const {
    for (std::size_t i = 0; i < concats_.size(); ++i) {
      const Node& concat = concats_[i].node();
      if (!found[i].defined() || !depends(concat.inputs()[0])) continue;
      throw GradientError(fmt::format(
          "gradients cannot flow through shard_concat, which returns the rows of all shards; "
          "compute the loss within each shard, and combine it by shard_sum or shard_mean\n  {}",
          graph_.where(concat)));
    }
  }

  // Concatenates the rows of `v` over all shards. All gradients of one target share the symbolic
  // number of rows.
  Value concat_over_shards(Value target, Value v) {
    const Value rows = v.rank() > 2 ? flatten(v, 0, -2) : v;
    const auto [it, first] = rows_of_.try_emplace(target);
    const Value all = first ? shard_concat(rows) : shard_concat_as(it->second, rows);
    it->second = all.size(0);
    return all;
  }

  Value sum_over_shards(Value v) const {
    const Value wide = is_narrow(v) ? cast(v, DType::f32) : v;
    const Value total = graph_.apply("shard_sum", {wide}, {}, {}).output(0);
    return total.dtype() == v.dtype() ? total : cast(total, v.dtype());
  }

  static Value scaled(Value v, Value scale) {
    const DType wide = is_narrow(v) ? DType::f32 : v.dtype();
    const Value result = cast(v, wide) * cast(scale, wide);
    return result.dtype() == v.dtype() ? result : cast(result, v.dtype());
  }

  // Returns true if the value may have a gradient with respect to wrt.
  bool depends(const Value& v) const {
    return v.defined() && is_floating(v.dtype()) &&
           (wrt_.contains(v) || dependent_.contains(v.node_pointer()));
  }

  Graph& graph_;
  const BackwardSweep sweep_;
  const PerShard parts_;
  std::vector<Value> sums_, concats_;
  std::unordered_set<Value, ValueHash> wrt_, joined_;
  std::unordered_map<Value, Dim, ValueHash> rows_of_;  // number of rows in all shards, by target
  std::unordered_set<const Node*> dependent_;
};

}  // namespace

std::vector<Value> sweep_through_shards(Graph& graph, BackwardSweep sweep,
                                        const std::vector<Value>& outputs,
                                        const std::vector<Value>& cotangents,
                                        const std::vector<Value>& wrt,
                                        const std::vector<Value>& joined) {
  std::vector<Value> roots = wrt;
  roots.insert(roots.end(), outputs.begin(), outputs.end());
  const std::vector<Node*> nodes = reachable_nodes(roots);
  const bool shards =
      std::any_of(nodes.begin(), nodes.end(), [](const Node* n) { return joins_shards(*n); });
  if (!shards) return sweep(outputs, cotangents, wrt);
  return ShardedSweep(graph, sweep, nodes, wrt, joined).run(outputs, cotangents, wrt, false);
}

std::vector<Value> values_of_shards(Value loss, const std::vector<Value>& values) {
  std::vector<Value> result;
  const PerShard parts(reachable_nodes({loss}));
  if (parts.level(loss) == 0) return result;
  std::copy_if(values.begin(), values.end(), std::back_inserter(result),
               [&](const Value& v) { return parts.varies(v); });
  return result;
}

}  // namespace weft
