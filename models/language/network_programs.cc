#include "weft/models/language/network_programs.h"

#include "weft/graph/functions/loss.h"

namespace weft {

NetworkPrograms network_programs(const LanguageNetwork& network, SourceLocation loc) {
  Graph& graph = network.scope().graph();
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"}, loc);
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"}, loc);
  const Value logits = network(tokens, loc);
  NetworkPrograms programs;
  programs.loss = cross_entropy(logits, targets);
  programs.evaluate.output("loss", programs.loss, loc);
  programs.score.output("losses", cross_entropy(logits, targets, {.reduction = Reduction::none}),
                        loc);
  Updates updates;
  programs.step.output("logits", network.step(tokens, &updates, loc), loc).update(updates, loc);
  return programs;
}

CarriedLoss carried_loss(const StatefulNetwork& network, std::int64_t batch, SourceLocation loc) {
  Graph& graph = network.scope().graph();
  const Value tokens = graph.input("stream.tokens", DType::i32, {batch, "stream_seq"}, loc);
  const Value targets = graph.input("stream.targets", DType::i32, {batch, "stream_seq"}, loc);
  const Value fresh = graph.input("stream.fresh", DType::boolean, {}, loc);
  CarriedLoss carried;
  carried.loss =
      cross_entropy(network.continue_text(tokens, fresh, &carried.updates, loc), targets);
  return carried;
}

}  // namespace weft
