// Code blocks in docs/graph-networks.md.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

namespace {

using namespace weft;

/// A layer of message passing (Gilmer et al. 2017). h is f32 [nodes, 16], and edge e leads from
/// node from[e] to node to[e].
Value message_layer(const Scope& net, Value h, Value from, Value to) {
  const Value ends = concat({take(h, from), take(h, to)}, 1);  // [edges, 32]
  const Value messages = gelu(linear(net / "message", ends, 32));
  const Value received = segment_sum(messages, to, h.size(0));  // [nodes, 32]
  return h + linear(net / "update", concat({h, received}, 1), 16);
}

/// A layer of a graph attention network (Velickovic et al. 2018) with 4 heads of 8 features.
Value attention_layer(const Scope& net, Value h, Value from, Value to) {
  const Dim nodes = h.size(0);
  const Value values = reshape(linear(net / "values", h, 32), {nodes, 4, 8});
  const Value scores =
      leaky_relu(take(linear(net / "from", h, 4), from) + take(linear(net / "to", h, 4), to), 0.2);
  const Value weights = segment_softmax(scores, to, nodes);  // [edges, 4]: sums to 1 at each node
  const Value mixed = segment_sum(unsqueeze(weights, 2) * take(values, from), to, nodes);
  return h + linear(net / "out", flatten(mixed, 1), 16);
}

BOOST_AUTO_TEST_SUITE(graph_networks_page)

BOOST_AUTO_TEST_CASE(a_graph_network_learns_to_count_neighbours) {
  Graph g;
  const Scope net(g, "net");
  const Value features = g.input("features", DType::f32, {"nodes", 1});
  const Value from = g.input("from", DType::i32, {"edges"}),
              to = g.input("to", DType::i32, {"edges"});
  const Value graph_of = g.input("graph_of", DType::i32, {"nodes"});  // the graph of each node
  const Value target = g.input("target", DType::f32, {"graphs"});

  Value h = linear(net / "embed", features, 16);
  h = message_layer(net / "0", h, from, to);
  h = attention_layer(net / "1", h, from, to);
  const Value of_graph = segment_mean(h, graph_of, target.size(0));  // [graphs, 16]
  const Value loss = mse(squeeze(linear(net / "head", of_graph, 1), 1), target);
  const Program train =
      Program("train").output("loss", loss).update(adam(loss, net.parameters(), {.lr = 0.01}));

  // Two graphs in one batch: nodes 0 to 2 with the edges of a cycle, and nodes 3 and 4 without
  // edges. The target is the mean number of incoming edges.
  Session session(g, {.seed = 1});
  const NamedTensors batch = {{"features", Tensor::full(DType::f32, {5, 1}, 1)},
                              {"from", Tensor::of<std::int32_t>({3}, {0, 1, 2})},
                              {"to", Tensor::of<std::int32_t>({3}, {1, 2, 0})},
                              {"graph_of", Tensor::of<std::int32_t>({5}, {0, 0, 0, 1, 1})},
                              {"target", Tensor::of<float>({2}, {1, 0})}};
  float last = 1;
  for (int step = 0; step < 100; ++step) last = session.run(train, batch)["loss"].item<float>();
  BOOST_TEST(last < 1e-2);
  // Batches with other numbers of nodes and edges need no other graph.
  const NamedTensors none = {{"features", Tensor::zeros(DType::f32, {1, 1})},
                             {"from", Tensor::zeros(DType::i32, {0})},
                             {"to", Tensor::zeros(DType::i32, {0})},
                             {"graph_of", Tensor::zeros(DType::i32, {1})},
                             {"target", Tensor::zeros(DType::f32, {1})}};
  BOOST_TEST(std::isfinite(session.run(train, none)["loss"].item<float>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
