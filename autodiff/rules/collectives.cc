// Gradients of collectives. Each collective is linear in the concatenated operands of all ranks;
// its gradient is the transposed operation.
#include "weft/graph/functions/collectives.h"
#include "weft/autodiff/narrow.h"
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

int ranks_of(const GradientContext& c) { return static_cast<int>(c.attributes().integer("ranks")); }

std::vector<Value> all_reduce_rule(const GradientContext& c) {
  return {all_reduce(c.cotangent(), ranks_of(c))};
}
std::vector<Value> all_gather_rule(const GradientContext& c) {
  return {reduce_scatter(widened(c.cotangent()), ranks_of(c))};
}
std::vector<Value> reduce_scatter_rule(const GradientContext& c) {
  return {all_gather(c.cotangent(), ranks_of(c))};
}
std::vector<Value> all_to_all_rule(const GradientContext& c) {
  return {all_to_all(c.cotangent(), ranks_of(c))};
}

// The gradient is the sum of all ranks' cotangents on the root, and zero on the other ranks.
std::vector<Value> broadcast_from_rule(const GradientContext& c) {
  const Value all = all_reduce(widened(c.cotangent()), ranks_of(c));
  const Value here = equal(rank_number(c.graph(), ranks_of(c)), c.attributes().integer("root"));
  return {where(here, all, 0)};
}

std::vector<Value> send_recv_rule(const GradientContext& c) {
  const std::vector<std::int64_t>& from = c.attributes().integers("from");
  const std::vector<std::int64_t>& to = c.attributes().integers("to");
  std::vector<SendRecv> back;
  for (std::size_t i = 0; i < from.size(); ++i)
    back.push_back({static_cast<int>(to[i]), static_cast<int>(from[i])});
  return {send_recv(c.cotangent(), ranks_of(c), back)};
}

}  // namespace

void CollectiveOps::add(RuleSet& rules) {
  rules.add("all_reduce", all_reduce_rule);
  rules.add("all_gather", all_gather_rule);
  rules.add("reduce_scatter", reduce_scatter_rule);
  rules.add("all_to_all", all_to_all_rule);
  rules.add("broadcast_from", broadcast_from_rule);
  rules.add("send_recv", send_recv_rule);
}

}  // namespace weft
