// Convolution layers, normalisation over channels, and dropout with its variants, in training and
// evaluation mode.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/conv.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/embedding_bag.h"
#include "weft/models/layers/linear.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

// A model written as a user would write it: a function that takes a scope.
Value small_cnn(const Scope& net, Value images) {
  Value h = images;
  for (const int width : {4, 6}) {
    const Scope block = net / width;
    h = relu(batch_norm(block / "norm", conv2d(block / "conv", h, width,
                                               {.padding = same_padding, .bias = false})));
    h = max_pool2d(h, {.kernel = {2, 2}});
  }
  return linear(net / "head", dropout(net, global_avg_pool(h), 0.2), 3);
}

struct SmallCnn {
  Graph g;
  Value images = g.input("images", DType::f32, {"batch", 1, 8, 8});
  Value labels = g.input("labels", DType::i32, {"batch"});
  Scope net = Scope(g, "net");
  Value loss = cross_entropy(small_cnn(net.training(), images), labels);
  Value logits = small_cnn(net.evaluation(), images);

  // Returns images with one bright row, column or diagonal, which determines the class.
  static NamedTensors batch(int size) {
    Tensor pixels = sample_uniform({size, 1, 8, 8}, 7, 0, 0.3);
    Tensor classes = Tensor::empty(DType::i32, {size});
    for (int i = 0; i < size; ++i) {
      const int label = i % 3, at = i / 3 % 8;
      classes.mutable_data<std::int32_t>()[i] = label;
      for (int k = 0; k < 8; ++k) {
        const int y = label == 0 ? at : k, x = label == 1 ? at : k;
        pixels.mutable_data<float>()[(i * 8 + y) * 8 + x] = 1;
      }
    }
    return {{"images", pixels}, {"labels", classes}};
  }
};

BOOST_AUTO_TEST_SUITE(channel_layers)

BOOST_AUTO_TEST_CASE(one_model_function_builds_training_and_prediction_programs) {
  SmallCnn m;
  Program train("train"), predict("predict");
  train.output("loss", m.loss).update(adamw(m.loss, m.net.parameters(), {.lr = 0.02}));
  predict.output("classes", argmax(m.logits, 1));
  // Only the training program updates the running statistics.
  BOOST_TEST(predict.updates().empty());
  int statistics = 0;
  for (const auto& [variable, value] : train.updates())
    statistics += variable.info().kind == VariableKind::buffer;
  BOOST_TEST(statistics == 4);
  std::vector<std::string> names;
  for (const Variable& v : m.net.parameters()) names.push_back(v.name());
  const std::vector<std::string> expected = {
      "net.4.conv.weight", "net.4.norm.weight", "net.4.norm.bias", "net.6.conv.weight",
      "net.6.norm.weight", "net.6.norm.bias",   "net.head.weight", "net.head.bias"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());

  Session session(m.g, {.seed = 3});
  const NamedTensors batch = SmallCnn::batch(24);
  for (int step = 0; step < 80; ++step) session.run(train, batch);
  const Tensor classes = session.run(predict, {batch[0]})["classes"];
  int right = 0;
  for (std::int64_t i = 0; i < 24; ++i) right += classes.at(i) == batch[1].second.at(i);
  BOOST_TEST(right >= 22);
  // Evaluation is deterministic, and the result for an image does not depend on the rest of the
  // batch.
  const Results all = session.run(Program("p").output("logits", m.logits), {batch[0]});
  Tensor first = Tensor::empty(DType::f32, {1, 1, 8, 8});
  for (int i = 0; i < 64; ++i) first.mutable_data<float>()[i] = batch[0].second.data<float>()[i];
  const Results alone = session.run(Program("q").output("logits", m.logits), {{"images", first}});
  for (int k = 0; k < 3; ++k)
    BOOST_TEST(std::abs(all["logits"].at(k) - alone["logits"].at(k)) < 1e-4);
}

BOOST_AUTO_TEST_CASE(batch_norm_layers_match_the_operation_with_explicit_state) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n", 3, "l"});
  const Scope net(g, "net");
  const Value trained = batch_norm(net.training(), x, {.momentum = 0.3, .eps = 1e-3});
  const Value evaluated = batch_norm(net.evaluation(), x, {.momentum = 0.3, .eps = 1e-3});
  const auto variable = [&](const char* name) { return g.find_variable(name); };
  const BatchNorm by_hand =
      batch_norm(x, variable("net.running_mean"), variable("net.running_var"),
                 variable("net.weight"), variable("net.bias"), {.momentum = 0.3, .eps = 1e-3});
  Session session(g);
  const Tensor data = sample_uniform({4, 3, 5}, 1).to(DType::f64);
  const Results expected = session.run(Program("hand")
                                           .output("out", by_hand.out)
                                           .output("mean", by_hand.running_mean)
                                           .output("variance", by_hand.running_variance),
                                       {{"x", data}});
  const Tensor out = session.run(Program("layer").output("out", trained), {{"x", data}})["out"];
  BOOST_TEST(bitwise_equal(out, expected["out"]));
  BOOST_TEST(bitwise_equal(session.value("net.running_mean"), expected["mean"]));
  BOOST_TEST(bitwise_equal(session.value("net.running_var"), expected["variance"]));
  const Tensor then = session.run(Program("after").output("out", evaluated), {{"x", data}})["out"];
  const double mean = expected["mean"].at(0), variance = expected["variance"].at(0);
  BOOST_TEST(std::abs(then.at(0) - (data.at(0) - mean) / std::sqrt(variance + 1e-3)) < 1e-12);
  BOOST_TEST(bitwise_equal(session.value("net.running_mean"), expected["mean"]));
}

BOOST_AUTO_TEST_CASE(stateful_layers_can_be_called_once_per_program) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2}), y = g.input("y", DType::f32, {"n", 2});
  const Scope net(g, "net");
  Program both("both");
  both.output("x", batch_norm(net.training(), x)).output("y", batch_norm(net.training(), y));
  BOOST_CHECK_EXCEPTION(Session(g).run(both, {{"x", Tensor::zeros(DType::f32, {2, 2})},
                                              {"y", Tensor::zeros(DType::f32, {2, 2})}}),
                        GraphError,
                        message_contains({"two new values for 'net.running_mean'",
                                          "Concatenate the batches", "channel_layers_test.cc"}));
}

BOOST_AUTO_TEST_CASE(group_and_instance_norms_create_weights_and_biases) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 4, 3, 3});
  const Scope net(g, "net");
  BOOST_TEST(group_norm(net / "group", x, 2).type().str() == "f32[2, 4, 3, 3]");
  BOOST_TEST(instance_norm(net / "instance", x, {.affine = false}).type().str() ==
             "f32[2, 4, 3, 3]");
  BOOST_TEST(g.find_variable("net.group.bias").value().type().str() == "f32[4]");
  BOOST_TEST(!g.has_variable("net.instance.weight"));
}

BOOST_AUTO_TEST_CASE(convolution_weights_use_the_pytorch_layout) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"n", 4, "h", "w"});
  const auto type = [&](const char* name) { return g.find_variable(name).value().type().str(); };
  BOOST_TEST(conv2d(net / "a", x, 6, {.kernel = {3, 5}, .padding = same_padding, .groups = 2})
                 .type()
                 .str() == "f32[n, 6, h, w]");
  BOOST_TEST(type("net.a.weight") == "f32[6, 2, 3, 5]");
  BOOST_TEST(type("net.a.bias") == "f32[6]");
  BOOST_TEST(
      conv_transpose2d(net / "b", x, 6,
                       {.stride = {2, 2}, .padding = same_padding, .groups = 2, .bias = false})
          .type()
          .str() == "f32[n, 6, 2*h, 2*w]");
  BOOST_TEST(type("net.b.weight") == "f32[4, 3, 3, 3]");
  BOOST_TEST(!g.has_variable("net.b.bias"));
  const Value sequence = g.input("s", DType::f32, {"n", 4, "l"});
  BOOST_TEST(conv1d(net / "c", sequence, 5, {.padding = 1}).type().str() == "f32[n, 5, l]");
  BOOST_TEST(type("net.c.weight") == "f32[5, 4, 3]");
  BOOST_TEST(conv_transpose1d(net / "d", sequence, 5,
                              {.kernel = 4, .stride = 2, .padding = 1, .output_padding = 1})
                 .type()
                 .str() == "f32[n, 5, 2*l + 1]");
  BOOST_TEST(type("net.d.weight") == "f32[4, 5, 4]");
  // The fan-in of an output element is 4 / 2 channels times 15 kernel elements.
  Session session(g);
  session.initialise();
  double largest = 0;
  const Tensor weight = session.value("net.a.weight");
  for (std::int64_t i = 0; i < weight.numel(); ++i)
    largest = std::max(largest, std::abs(weight.at(i)));
  BOOST_TEST(largest <= 1 / std::sqrt(30.0));
  BOOST_TEST(largest > 0.9 / std::sqrt(30.0));
}

BOOST_AUTO_TEST_CASE(dropout_variants_drop_elements_channels_or_samples) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 8, 5});
  const Scope net(g, "net");
  const Scope training = net.training(), evaluation = net.evaluation();
  Program program("p");
  program.output("channels", channel_dropout(training, x, 0.25))
      .output("paths", drop_path(training, x, 0.25))
      .output("alpha", alpha_dropout(training, x, 0.25))
      .output("elements", dropout(training, x, 0.25));
  for (const auto layer : {dropout, channel_dropout, alpha_dropout, drop_path}) {
    BOOST_TEST((layer(evaluation, x, 0.25, SourceLocation::current()) == x));
    BOOST_TEST((layer(training, x, 0, SourceLocation::current()) == x));
  }
  Session session(g, {.seed = 2});
  const Tensor ones = Tensor::full(DType::f32, {200, 8, 5}, 1);
  const Results r = session.run(program, {{"x", ones}});
  const auto check = [&](const char* name, std::int64_t together) {
    const Tensor t = r[name];
    std::int64_t left_out = 0;
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      BOOST_REQUIRE(t.at(i) == t.at(i / together * together));
      BOOST_REQUIRE((t.at(i) == 0 || t.at(i) == 1 / 0.75f));
      left_out += t.at(i) == 0;
    }
    const double share = static_cast<double>(left_out) / static_cast<double>(t.numel());
    const double deviation = std::sqrt(0.25 * 0.75 * static_cast<double>(together) / 8000);
    BOOST_TEST(std::abs(share - 0.25) < 4 * deviation, name);
  };
  check("channels", 5);
  check("paths", 40);
  check("elements", 1);
  BOOST_TEST(!bitwise_equal(session.run(program, {{"x", ones}})["paths"], r["paths"]));
}

BOOST_AUTO_TEST_CASE(alpha_dropout_keeps_mean_and_variance) {
  Graph g;
  const Value x = normal(g.key("data"), Shape{Dim(100000)}, 0, 1, DType::f64);
  const Value y = alpha_dropout(Scope(g, "net").training(), x, 0.3);
  Session session(g, {.seed = 4});
  const Results r = session.run(Program("p").output("mean", mean(y)).output("var", var(y)));
  BOOST_TEST(std::abs(r["mean"].at(0)) < 0.015);
  BOOST_TEST(std::abs(r["var"].at(0) - 1) < 0.02);
}

BOOST_AUTO_TEST_CASE(dropping_infinite_values_produces_no_nan) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 1});
  Session session(g, {.seed = 2});
  const Tensor out = session.run(Program("p").output("y", drop_path(Scope(g).training(), x, 0.5)),
                                 {{"x", Tensor::full(DType::f32, {64, 1}, HUGE_VAL)}})["y"];
  for (std::int64_t i = 0; i < 64; ++i) BOOST_TEST(!std::isnan(out.at(i)));
}

BOOST_AUTO_TEST_CASE(residuals_require_equal_shapes) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 4});
  const Scope net(g, "net");
  BOOST_TEST(residual(net, x, tanh(x)).type().str() == "f32[n, 4]");
  BOOST_TEST(residual(net.evaluation(), x, tanh(x), {.drop_path = 0.1}).node().op().name == "add");
  BOOST_CHECK_EXCEPTION(residual(net, x, mean(x, 0, true)), ShapeError,
                        message_contains({"residual: the shortcut, f32[n, 4], and the branch, "
                                          "f32[1, 4], must have the same shape: apply a layer to "
                                          "the shortcut, too",
                                          "channel_layers_test.cc"}));
}

BOOST_AUTO_TEST_CASE(errors_state_the_problem_and_the_source_file) {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"n", 4, 5, 5});
  const auto rejects = [](auto&& build, const std::string& words) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({words, "channel_layers_test.cc"}));
  };
  rejects([&] { batch_norm(net / "norm", x); },
          "batch_norm in scope 'net.norm' behaves differently in training and evaluation");
  rejects([&] { dropout(net / "drop", x, 0.5); },
          "dropout in scope 'net.drop' behaves differently");
  rejects([&] { residual(net, x, x, {.drop_path = 0.5}); },
          "drop_path in scope 'net' behaves differently");
  rejects([&] { dropout(net.training(), x, 1); }, "rate must be in [0, 1), but is 1");
  rejects([&] { dropout(net.training(), g.input("ids", DType::i32, {3}), 0.1); },
          "x must be floating-point, not i32");
  rejects(
      [&] { channel_dropout(net.training(), select(select(select(x, 3, 0), 2, 0), 1, 0), 0.1); },
      "x must be [N, C, ...], but is f32[n]");
  rejects(
      [&] {
        conv2d(net / "c", g.input("i", DType::i32, {1, 2, 3, 3}), 4);
      },
      "conv2d: x must be floating-point, not i32");
  rejects([&] { conv2d(net / "c", select(x, 3, 0), 4); },
          "x must be [N, C, H, W], but is f32[n, 4, 5]");
  rejects([&] { conv1d(net / "c", x, 4); }, "x must be [N, C, L], but is f32[n, 4, 5, 5]");
  rejects(
      [&] {
        conv2d(net / "c", g.input("s", DType::f32, {1, "c", 3, 3}), 4);
      },
      "the channels of x (axis 1) have the symbolic size c");
  rejects([&] { conv2d(net / "c", x, 6, {.groups = 4}); },
          "channels must be at least 1 and multiples of groups, but are 4 -> 6 in 4 groups");
  rejects([&] { conv_transpose2d(net / "c", x, 0); }, "4 -> 0 in 1 groups");
  rejects(
      [&] {
        conv2d(net / "c", x, 4, {.kernel = {3, 0}});
      },
      "kernel sizes must be at least 1, but one is 0");
  rejects(
      [&] {
        embedding_bag(net / "e", g.input("bag", DType::i32, {2, 3}),
                      {.vocab = 4, .width = 2, .padding_id = 0});
      },
      "embedding bags have no padding id: set lengths or offsets to exclude padding");
  BOOST_TEST(!g.has_variable("net.c.weight"));
}

BOOST_AUTO_TEST_CASE(embedding_bags_create_their_table) {
  Graph g;
  const Scope net(g, "net");
  const Value ids = g.input("ids", DType::i32, {"n", "bag"}),
              lengths = g.input("l", DType::i32, {"n"});
  const Value y = embedding_bag(net / "words", ids, {.vocab = 10, .width = 4},
                                {.reduction = BagReduction::sum, .lengths = lengths});
  BOOST_TEST(y.type().str() == "f32[n, 4]");
  BOOST_TEST(g.find_variable("net.words.weight").value().type().str() == "f32[10, 4]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
