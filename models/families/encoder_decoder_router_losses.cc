#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/encoder_decoder.h"

namespace weft {

RouterLosses router_losses(const StackOutputs& outputs, SourceLocation loc) {
  if (outputs.routed.empty())
    throw ArgumentError("router_losses needs a stack with experts\n  " + loc.str());
  Graph& graph = outputs.last_hidden_state.graph();
  const Graph::Frame frame(graph, "router_losses", loc);
  std::vector<Value> all_logits, all_experts;
  for (const RoutedLayer& layer : outputs.routed) {
    all_logits.push_back(layer.logits);
    all_experts.push_back(layer.experts);
  }
  // The tokens of all layers, [batch, tokens, experts]. Without tokens, all sums are 0.
  const Value logits = concat(all_logits, 1);
  const Dim texts = logits.size(0), tokens = logits.size(1), experts = logits.size(2);
  const DType dtype = logits.dtype();
  const Value count = maximum(dim_value(graph, tokens, dtype), 1);
  const Value rows = maximum(dim_value(graph, texts, dtype), 1);
  const Value chosen = one_hot(concat(all_experts, 1), experts, dtype);
  const Value fractions = sum(chosen, {1}) / count, means = sum(softmax(logits, 2), {1}) / count;
  return {dim_value(graph, experts, dtype) * sum(fractions * means) / rows,
          sum(square(logsumexp(logits, {2}))) / (rows * count)};
}

Value EncoderDecoder::with_router_losses(Value loss, const StackOutputs& encoded,
                                         const StackOutputs& decoded, Reduction reduction,
                                         SourceLocation loc) const {
  const Graph::Frame frame(scope_.graph(), "router_losses", loc, scope_.path());
  const bool weighted = config_.balancing_weight != 0 || config_.router_z_weight != 0;
  if (config_.experts == 0 || !weighted || !scope_.is_training("router losses", loc)) return loss;
  const auto add = [&](double weight, const Value& added) {
    if (weight == 0) return;
    loss = loss + (reduction == Reduction::shard_mean ? shard_mean(added) : added) * weight;
  };
  for (const StackOutputs* stack : {&encoded, &decoded}) {
    if (stack->routed.empty()) continue;
    const RouterLosses losses = router_losses(*stack);
    add(config_.balancing_weight, losses.balancing);
    add(config_.router_z_weight, losses.z);
  }
  return loss;
}

}  // namespace weft
