// Code blocks in docs/graphs.md.
#include <boost/test/unit_test.hpp>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/models/layers.h"

namespace {

using namespace weft;

/// Gated residual block: x and the result are f32 [batch, seq, width].
Value gated_block(const Scope& at, Value x, std::int64_t width) {
  const Value h = layer_norm(at / "norm", x);
  const Value gate = sigmoid(linear(at / "gate", h, width));
  return x + linear(at / "out", gate * tanh(linear(at / "in", h, width)), width);
}

BOOST_AUTO_TEST_SUITE(graph_page)

BOOST_AUTO_TEST_CASE(a_model_of_layers_has_several_programs) {
  Graph g;
  const Value tokens = g.input("tokens", DType::i32, {"batch", "seq"});
  const Value targets = g.input("targets", DType::i32, {"batch", "seq"});
  const Scope net(g, "net");
  Value h = embedding(net / "tokens", tokens, {.vocab = 100, .width = 32});
  h = h + learned_positions(net / "positions", h, {.context = 64});
  for (int i = 0; i < 2; ++i) h = gated_block(net / "block" / i, h, 32);
  const Value logits = linear(net / "head", layer_norm(net / "norm", h), 100);
  const Value loss = cross_entropy(logits, targets);

  const Program train = Program("train").output("loss", loss).update(adamw(loss, g.parameters()));
  const Program predict = Program("predict").output("logits", logits);

  Session session(g, {.seed = 1});
  const Tensor text = integer_tensor({8, 16}, 1, 0, 100, DType::i32);  // random token ids
  const float before =
      session.run(train, {{"tokens", text}, {"targets", text}})["loss"].item<float>();
  const Tensor out = session.run(predict, {{"tokens", text}})["logits"];  // f32 [8, 16, 100]
  BOOST_TEST(before > 4);
  BOOST_TEST(out.type_str() == "f32[8, 16, 100]");
  BOOST_TEST(session.value("net.block.1.gate.weight").type_str() == "f32[32, 32]");
}

BOOST_AUTO_TEST_CASE(sizes_are_symbols) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", "seq", 32});
  const Value y = g.input("y", DType::f32, {"batch", "other"});
  const Value heads = permute(reshape(x, {"batch", "seq", 4, 8}), {0, 2, 1, 3});
  const Dim seq = x.shape()[1];
  const Value mean_length = 1.0 / dim_value(g, seq, DType::f32);
  g.require(y.shape()[1] == 2 * seq);  // shape rules may rely on it; checked in every run
  const Value halves = reshape(y, {"batch", "seq", 2});
  BOOST_TEST(heads.type().str() == "f32[batch, 4, seq, 8]");
  BOOST_TEST(halves.type().str() == "f32[batch, seq, 2]");
  BOOST_TEST(mean_length.rank() == 0);
}

BOOST_AUTO_TEST_CASE(weights_can_be_shared_frozen_and_renamed) {
  Graph g;
  const Scope net(g, "net");
  const Value tokens = g.input("tokens", DType::i32, {"batch", "seq"});
  const Embedding table = make_embedding(net / "tokens", {.vocab = 100, .width = 32});
  const Linear mix = make_linear(net / "mix", DType::f32, 32, 32);  // one weight, applied twice
  const Value h = mix(tanh(mix(table(tokens))));
  const Value logits = matmul(h, table.weight, {.transpose_b = true});  // tied weights, no copy
  g.alias("net.head.weight", table.weight);  // a second name, for weight files that use it
  g.set_trainable(mix.bias, false);          // excluded from g.parameters()
  BOOST_TEST(g.parameters().size() == 2);
  BOOST_TEST(logits.rank() == 3);
}

/// Classifies images f32 [n, 1, 8, 8] into 10 classes.
Value classifier(const Scope& net, Value images) {
  Value h = conv2d(net / "conv", images, 8, {.padding = same_padding});
  h = max_pool2d(relu(batch_norm(net / "norm", h)), {.kernel = {2, 2}});
  return linear(net / "head", dropout(net, flatten(h, 1), 0.2), 10);
}

BOOST_AUTO_TEST_CASE(one_model_function_yields_two_programs) {
  Graph g;
  const Value images = g.input("images", DType::f32, {"n", 1, 8, 8});
  const Value labels = g.input("labels", DType::i64, {"n"});
  const Scope net(g, "net");
  const Value loss = cross_entropy(classifier(net.training(), images), labels);
  const Value logits = classifier(net.evaluation(), images);
  const Program train = Program("train").output("loss", loss).update(adamw(loss, net.parameters()));
  const Program predict = Program("predict").output("logits", logits);
  Session session(g, {.seed = 1});
  const Tensor pixels = normal_tensor({4, 1, 8, 8}, 1);
  session.run(train, {{"images", pixels}, {"labels", integer_tensor({4}, 1, 0, 10)}});
  session.run(predict, {{"images", pixels}});
  BOOST_TEST(session.value("net.norm.running_mean").at(0) != 0.0);
}

BOOST_AUTO_TEST_CASE(runs_advance_random_keys_and_update_state) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 8});
  const Value dropped = dropout(x, 0.1, g.key("dropout"));  // a different mask in every run
  const Value noise = normal(g.key("noise"), x.shape());
  const Variable seen = net.variable("seen", DType::i64, {}, {.kind = VariableKind::buffer});
  const Value batch = dim_value(g, x.shape()[0], DType::i64);
  const Program train = Program("train").output("y", dropped + noise).update(seen, seen + batch);
  const Program measure = Program("measure").output("y", x);  // no random numbers, no updates
  Session session(g, {.seed = 1});
  const Tensor ones = Tensor::full(DType::f32, {3, 8}, 1);
  session.run(train, {{"x", ones}});
  session.run(train, {{"x", ones}});
  session.run(measure, {{"x", ones}});
  BOOST_TEST(session.value("net.seen").item<std::int64_t>() == 6);
}

BOOST_AUTO_TEST_CASE(gradients_can_be_customised) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n"});
  // Straight-through estimator: rounds in the forward pass, identity in the backward pass.
  const auto rounded = custom_gradient(
      g, "straight_through", {x},
      [](Graph&, const std::vector<Value>& in) { return std::vector{round(in[0])}; },
      [](Graph&, const std::vector<Value>& in) { return std::vector{in[2]}; });
  const Value slope = gradient(sum(square(rounded[0])), x);  // 2 round(x)
  Session session(g);
  const Program program = Program("p").output("slope", slope);
  const Results results = session.run(program, {{"x", Tensor::of<float>({2}, {1.6f, -0.2f})}});
  BOOST_TEST(results["slope"].at(0) == 4.0);
  BOOST_TEST(results["slope"].at(1) == 0.0);
}

BOOST_AUTO_TEST_CASE(named_values_can_be_fetched_and_programs_printed) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3});
  const Value h = tanh(x);
  g.set_name("hidden", h);
  const Program program = Program("p").output("y", 2 * h);
  const std::string text = to_text(program);  // readable; parse_text() reads it back
  Session session(g);
  const Results results = session.run(program, {{"x", Tensor::zeros(DType::f32, {1, 3})}},
                                      {.fetch = {"hidden"}});  // any named value
  BOOST_TEST(results["hidden"].at(2) == 0.0);
  BOOST_TEST(text.find("%0 = tanh(%x) : f32[n, 3]") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
