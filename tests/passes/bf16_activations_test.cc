// Operands and results of products at medium precision are stored as bfloat16.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// A network with two layers and their gradients. Only two products read m.
struct Net {
  Graph graph;
  Variable up, down;
  Program train{"train"};

  explicit Net(std::optional<Precision> own = {}) {
    const Value x = graph.input("x", DType::f32, {"batch", 3, 40});
    const VariableOptions normal{.initializer = Initializer::normal(0.3)};
    up = graph.variable("up", DType::f32, {40, 72}, normal);
    down = graph.variable("down", DType::f32, {72, 40}, normal);
    const Value m = square(matmul(x, up, {.precision = own}));
    const Value y = matmul(m, down, {.precision = own});
    const Value loss = mean(square(y));
    train.output("loss", loss);
    const std::vector<Value> g = gradients(loss, {up.value(), down.value()});
    train.output("up", g[0]).output("down", g[1]);
  }
};

int narrow_operands(const Program& program, const PassOptions& options) {
  const Module module = run_passes(clone_program(program), options);
  int found = 0;
  for (const Node* node : module.program.nodes()) {
    if (!node->op().name.starts_with("matmul")) continue;
    for (const Value& v : node->inputs()) found += v.dtype() == DType::bf16;
  }
  return found;
}

// The operand of GELU is read again in the backward pass, after other products.
struct Mlp {
  Graph graph;
  Variable up, bias, down;
  Value x, h, y;
  Program train{"train"};

  explicit Mlp(std::optional<Precision> own = {}) {
    x = graph.input("x", DType::f32, {"batch", 40});
    const VariableOptions normal{.initializer = Initializer::normal(0.3)};
    up = graph.variable("up", DType::f32, {40, 160}, normal);
    bias = graph.variable("bias", DType::f32, {160}, normal);
    down = graph.variable("down", DType::f32, {160, 40}, normal);
    h = matmul(x, up, {.precision = own}) + bias;
    y = x + matmul(gelu(h), down, {.precision = own});
    const Value loss = mean(square(y));
    train.output("loss", loss);
    const std::vector<Value> g = gradients(loss, {up.value(), bias.value(), down.value()});
    train.output("up", g[0]).output("bias", g[1]).output("down", g[2]);
  }
};

/// Returns the number of operands that nodes other than products read as bfloat16 in the program
/// without fusion.
int late_reads(const Program& program, const PassOptions& options = {}) {
  PassOptions unfused = options;
  unfused.disabled.insert(unfused.disabled.end(), {"fuse", "epilogue"});
  const Module module = run_passes(clone_program(program), unfused);
  int found = 0;
  for (const Node* node : module.program.nodes())
    found += node->op().name == "cast" && node->input(0).dtype() == DType::bf16;
  return found;
}

/// Returns the number of nodes with an f32 result of this shape.
int f32_results(const Program& program, const Shape& shape) {
  const Module module = run_passes(clone_program(program));
  int found = 0;
  for (const Node* node : module.program.nodes()) {
    for (int o = node->op().name == "matmul_fused" ? 1 : 0; o < node->output_count(); ++o)
      found += node->type(o).dtype == DType::f32 && node->type(o).shape == shape;
  }
  return found;
}

/// A GPT with the training step of `weft bench train`.
struct SmallGpt {
  Graph graph;
  Program train{"train"}, gradient{"gradient"};
  NamedTensors feeds;

  SmallGpt() {
    const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
    const Value targets = graph.input("targets", DType::i32, {"batch", "seq"});
    const Gpt model(Scope(graph).evaluation(),
                    {.vocab = 65, .layers = 4, .heads = 4, .width = 128, .context = 64});
    const Value loss = cross_entropy(model({.ids = tokens}).logits, targets, {.class_axis = -1});
    const std::vector<Variable> parameters = graph.parameters();
    train.output("loss", loss)
        .update(adamw(loss, parameters, {.lr = 1e-3, .step = {.clip_norm = 1}}).updates);
    const std::vector<Value> found =
        gradients(loss, std::vector<Value>(parameters.begin(), parameters.end()));
    for (std::size_t i = 0; i < found.size(); ++i) gradient.output(parameters[i].name(), found[i]);
    feeds = {{"tokens", sample_indices({8, 64}, 65, 1).to(DType::i32)},
             {"targets", sample_indices({8, 64}, 65, 2).to(DType::i32)}};
  }
};

BOOST_AUTO_TEST_SUITE(bf16_activations_pass)

BOOST_AUTO_TEST_CASE(activations_are_narrowed_only_at_medium_and_without_other_readers) {
  Net net;
  BOOST_TEST(narrow_operands(net.train, {}) == 0);
  BOOST_TEST(narrow_operands(net.train, {.precision = Precision::high}) == 0);
  // m is an operand of the product with `down` and of its gradient. The gradient of y is also read
  // by two products. The product before square() is read again by the gradient of m.
  BOOST_TEST(narrow_operands(net.train, {.precision = Precision::medium}) == 5);
  BOOST_TEST(narrow_operands(net.train, {.disabled = {"bf16_activations"},
                                         .precision = Precision::medium}) == 0);
  net.train.precision(Precision::medium);
  BOOST_TEST(narrow_operands(net.train, {}) == 5);
  // The precision of an individual product takes precedence.
  Net exact(Precision::highest);
  exact.train.precision(Precision::medium);
  BOOST_TEST(narrow_operands(exact.train, {}) == 0);
  // A program output must keep its values.
  Net seen;
  const Value m = square(matmul(seen.graph.find_input("x"), seen.up));
  seen.train.output("m", m);
  BOOST_TEST(narrow_operands(seen.train, {.precision = Precision::medium}) == 3);
}

BOOST_AUTO_TEST_CASE(results_have_the_error_of_medium_precision) {
  Net net;
  const NamedTensors feeds = {{"x", sample_uniform({5, 3, 40}, 3).to(DType::f32)}};
  const auto run = [&](Precision precision) {
    Session session(net.graph, {.seed = 4, .precision = precision});
    return session.run(net.train, feeds);
  };
  const Results exact = run(Precision::highest), rounded = run(Precision::medium);
  for (const char* name : {"loss", "up", "down"}) {
    const Tensor a = exact[name], b = rounded[name];
    double error = 0, size = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      error += std::pow(a.at(i) - b.at(i), 2);
      size += std::pow(a.at(i), 2);
    }
    BOOST_TEST(std::sqrt(error / size) < 0.02);
    BOOST_TEST(error > 0);
  }
}

BOOST_AUTO_TEST_CASE(sums_of_products_that_elementwise_ops_read_late_are_kept_as_bfloat16) {
  Mlp net;
  BOOST_TEST(late_reads(net.train) == 0);
  BOOST_TEST(late_reads(net.train, {.precision = Precision::high}) == 0);
  BOOST_TEST(late_reads(net.train, {.precision = Precision::medium}) == 1);
  Mlp exact(Precision::highest);
  BOOST_TEST(late_reads(exact.train, {.precision = Precision::medium}) == 0);
  // Outputs keep their values.
  Mlp seen;
  seen.train.output("h", seen.h);
  BOOST_TEST(late_reads(seen.train, {.precision = Precision::medium}) == 0);
}

// The residual stream of a transformer contains more than products: rounding it in every layer
// would add up.
BOOST_AUTO_TEST_CASE(sums_with_other_values_keep_their_precision) {
  const auto reads = [](bool residual) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 40});
    const VariableOptions normal{.initializer = Initializer::normal(0.3)};
    const Variable w = g.variable("w", DType::f32, {40, 40}, normal);
    const Value product = matmul(x, w) * 0.5, h = residual ? x + product : product;
    Program p("p");
    p.output("y", h + matmul(tanh(h), w));
    return late_reads(p, {.precision = Precision::medium});
  };
  BOOST_TEST(reads(false) == 1);
  BOOST_TEST(reads(true) == 0);
}

// Only the narrow value lives until the backward pass: the product writes it, and the steps of the
// gradient widen it in registers.
BOOST_AUTO_TEST_CASE(kept_values_are_narrowed_and_widened_without_passes_over_memory) {
  Mlp net;
  const Shape wide{net.graph.dim("batch"), 160};
  BOOST_TEST(f32_results(net.train, wide) == 3);  // h, gelu(h) and the gradient of h
  net.train.precision(Precision::medium);
  BOOST_TEST(f32_results(net.train, wide) ==
             1);  // the gradient of h, of which `bias` needs the sum
  const Module module = run_passes(clone_program(net.train));
  for (const Node* node : module.program.nodes()) BOOST_TEST(node->op().name != "cast");
}

BOOST_AUTO_TEST_CASE(attention_reads_narrow_operands_only_together_with_its_gradient) {
  SmallGpt gpt;
  const auto attentions = [&](const Program& program) {
    std::multiset<std::string> found;
    const Module module = run_passes(clone_program(program));
    for (const Node* node : module.program.nodes()) {
      if (node->op().name.starts_with("attention")) found.insert(node->op().name);
    }
    return found;
  };
  BOOST_TEST(attentions(gpt.train).count("attention_grad") == 4);
  gpt.train.precision(Precision::medium);
  BOOST_TEST(attentions(gpt.train).count("attention_narrow") == 4);
  BOOST_TEST(attentions(gpt.train).count("attention_grad_narrow") == 4);
  // Without a gradient, attention keeps its operands.
  Program predict("predict");
  predict.output("loss", gpt.train.outputs()[0].second).precision(Precision::medium);
  BOOST_TEST(attentions(predict).count("attention") == 4);
}

BOOST_AUTO_TEST_CASE(a_training_step_at_medium_needs_at_most_seven_tenths_of_the_memory) {
  SmallGpt gpt;
  const auto arena = [&](Precision precision) {
    Session session(gpt.graph, {.threads = 1, .precision = precision});
    return static_cast<double>(session.plan(gpt.train, sizes_of(gpt.feeds))->memory().arena);
  };
  BOOST_TEST(arena(Precision::medium) <= 0.7 * arena(Precision::highest));
}

BOOST_AUTO_TEST_CASE(training_at_medium_follows_the_loss_of_float32) {
  SmallGpt gpt;
  Session exact(gpt.graph, {.seed = 3}),
      rounded(gpt.graph, {.seed = 3, .precision = Precision::medium});
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    const double a = exact.run(gpt.train, gpt.feeds)["loss"].at(0);
    const double b = rounded.run(gpt.train, gpt.feeds)["loss"].at(0);
    BOOST_TEST(std::abs(a - b) < 0.01, "step " << step << ": " << a << " and " << b);
    (step == 0 ? first : last) = a;
  }
  BOOST_TEST(last < first - 0.5);
}

BOOST_AUTO_TEST_CASE(gradients_at_medium_have_the_direction_of_float32) {
  SmallGpt gpt;
  Session exact(gpt.graph, {.seed = 3}),
      rounded(gpt.graph, {.seed = 3, .precision = Precision::medium});
  const Results a = exact.run(gpt.gradient, gpt.feeds), b = rounded.run(gpt.gradient, gpt.feeds);
  for (const auto& [name, want] : a) {
    const Tensor got = b[name];
    double product = 0, wants = 0, gots = 0;
    for (std::int64_t i = 0; i < want.numel(); ++i) {
      product += want.at(i) * got.at(i);
      wants += want.at(i) * want.at(i);
      gots += got.at(i) * got.at(i);
    }
    BOOST_TEST(product > 0.999 * std::sqrt(wants * gots),
               name << ": cosine " << product / std::sqrt(wants * gots));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
