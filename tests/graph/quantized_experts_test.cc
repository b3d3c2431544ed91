// Stacks of quantised matrices, as in mixtures of experts, in programs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

constexpr std::int64_t kExperts = 4, kWidth = 40, kInner = 72;

// Two layers of experts with matrices in different layouts, over rows that are sorted by expert.
struct ExpertNet {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Value x, sizes, y;
  Variable up, down;
  Program predict{"predict"};

  ExpertNet() {
    x = graph.input("x", DType::f32, {"rows", kWidth});
    sizes = graph.input("sizes", DType::i64, {kExperts});
    const VariableOptions normal{.initializer = Initializer::normal(0.3)};
    up = graph.variable("experts.up", DType::f32, {kExperts, kWidth, kInner}, normal);
    down = graph.variable("experts.down", DType::f32, {kExperts, kWidth, kInner}, normal);
    graph.alias("shared.up", up);
    y = grouped_matmul(tanh(grouped_matmul(x, up, sizes)), down, sizes, {.transpose_w = true});
    predict.output("y", y);
    Session(graph, store, {.seed = 3}).initialise();
  }
};

/// Returns a program with the result and its gradient with respect to the rows.
Program with_gradient(const Program& predict) {
  const Value y = predict.outputs()[0].second;
  for (const Value& input : predict.inputs()) {
    if (input.dtype() != DType::f32) continue;
    return Program("both").output("y", y).output("dx", gradients(sum(y * cos(y)), {input})[0]);
  }
  return Program("none");
}

Results run(Graph& graph, const std::shared_ptr<VariableStore>& store, const Program& program,
            const Ints& sizes, const SessionOptions& options = {.threads = 2}) {
  std::int64_t rows = 1;  // the last row belongs to no expert
  for (const std::int64_t size : sizes) rows += size;
  Session session(graph, store, options);
  return session.run(with_gradient(program), {{"x", sample_uniform({rows, kWidth}, 4)},
                                              {"sizes", Tensor::of({kExperts}, sizes)}});
}

double relative_difference(const Tensor& actual, const Tensor& expected) {
  BOOST_REQUIRE((actual.sizes() == expected.sizes()));
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    error += std::pow(actual.at(i) - expected.at(i), 2);
    size += std::pow(expected.at(i), 2);
  }
  return std::sqrt(error / size);
}

constexpr WeightFormat kFormats[] = {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4,
                                     WeightFormat::q8_0};

BOOST_AUTO_TEST_SUITE(quantized_experts)

BOOST_AUTO_TEST_CASE(stacks_are_multiplied_without_a_float_copy_forward_and_backward) {
  ExpertNet net;
  for (const WeightFormat format : kFormats) {
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
      BOOST_REQUIRE(model.weights.size() == 2U);
      BOOST_TEST(model.weights[0].type == "f32[4, 40, 72]");
      BOOST_TEST(model.weights[0].bytes_after * 2 <= model.weights[0].bytes_before);
      const Module module = run_passes(clone_program(with_gradient(model.programs[0])));
      for (Node* node : module.program.nodes()) {
        BOOST_TEST(node->op().name != "dequantize");
        BOOST_TEST(node->op().name != "permute");
        if (node->op().name == "cast") BOOST_TEST(node->output(0).rank() != 3);
      }
      for (const Ints& sizes : {Ints{0, 1, 0, 1}, Ints{30, 0, 9, 2}}) {
        const Results exact = run(net.graph, net.store, net.predict, sizes);
        const Results r = run(*model.graph, model.store, model.programs[0], sizes);
        const double bound = format == WeightFormat::int4 ? 0.4 : 0.03;
        for (const char* name : {"y", "dx"}) {
          BOOST_TEST(relative_difference(r[name], exact[name]) < bound, name);
          BOOST_TEST(relative_difference(r[name], exact[name]) > 0, name);
          const Results plain =
              run(*model.graph, model.store, model.programs[0], sizes, {.passes = false});
          BOOST_TEST(relative_difference(r[name], plain[name]) < 1e-5, name);
          const Results one =
              run(*model.graph, model.store, model.programs[0], sizes, {.threads = 1});
          BOOST_TEST(bitwise_equal(r[name], one[name]), name);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_matrix_of_a_stack_has_the_values_of_a_single_matrix) {
  ExpertNet net;
  for (const WeightFormat format : kFormats) {
    const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
    const QuantizedModel floats = dequantize(model.programs, *model.store);
    BOOST_TEST(floats.store->tensor("experts.up").type_str() == "f32[4, 40, 72]");
    const Tensor stack = net.store->tensor("experts.up");
    for (std::int64_t e = 0; e < kExperts; ++e) {
      Graph g;
      const Variable w = g.variable("w", DType::f32, {kWidth, kInner});
      const Program p = Program("p").output("y", matmul(g.input("x", DType::f32, {1, kWidth}), w));
      auto store = std::make_shared<VariableStore>();
      Tensor one = Tensor::empty(DType::f32, {kWidth, kInner});
      const std::int64_t size = kWidth * kInner;
      std::copy_n(stack.data<float>() + e * size, size, one.mutable_data<float>());
      store->insert("w", VariableKind::parameter, one);
      const QuantizedModel single = quantize({p}, *store, {.weights = format});
      const Tensor back = dequantize(single.programs, *single.store).store->tensor("w");
      for (std::size_t i = 0; i < stored_names("w", format).size(); ++i) {
        const Tensor part = single.store->tensor(stored_names("w", format)[i]),
                     whole = model.store->tensor(stored_names("experts.up", format)[i]);
        BOOST_REQUIRE(whole.bytes() == kExperts * part.bytes());
        BOOST_TEST(std::memcmp(static_cast<const std::byte*>(whole.raw()) +
                                   static_cast<std::size_t>(e) * part.bytes(),
                               part.raw(), part.bytes()) == 0);
      }
      const float* const values = floats.store->tensor("experts.up").data<float>() + e * size;
      BOOST_TEST(std::equal(values, values + size, back.data<float>()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_graph_lists_its_stacks_and_counts_their_parameters) {
  ExpertNet net;
  for (const WeightFormat format : kFormats) {
    const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = format});
    const QuantizedWeights weights = quantized_weights(*model.graph);
    BOOST_REQUIRE(weights.size() == 2U);
    const QuantizedWeight &up = weights.at("experts.up"), &down = weights.at("experts.down");
    BOOST_TEST((up.stack == 4 && up.inputs == kWidth && up.outputs == kInner && !up.out_in));
    BOOST_TEST((down.stack == 4 && down.inputs == kInner && down.outputs == kWidth && down.out_in));
    BOOST_TEST(down.shape().str() == "[4, 40, 72]");
    BOOST_TEST(count_parameters(*model.graph) == 2 * 4 * kWidth * kInner);
    BOOST_TEST(model.graph->has_variable("shared.up" +
                                         std::string(format == WeightFormat::bf16 ? "" : ".q")));
    // Programs can read the stored values.
    const RewrittenPrograms made = with_quantized({net.predict}, weights);
    const Ints sizes = {1, 0, 3, 2};
    BOOST_TEST(bitwise_equal(run(*made.graph, model.store, made.programs[0], sizes)["dx"],
                             run(*model.graph, model.store, model.programs[0], sizes)["dx"]));
    // Adapters ignore stacks.
    BOOST_CHECK_EXCEPTION(add_lora(model.programs, *model.store, LoraOptions{}), ArgumentError,
                          testing::message_contains({"the model has no matrix"}));
  }
}

BOOST_AUTO_TEST_CASE(invalid_stacks_are_rejected) {
  ExpertNet net;
  const Program train = Program("train").output("y", net.y).update(net.up, net.up * 0.5);
  BOOST_CHECK_EXCEPTION(
      quantize({net.predict, train}, *net.store), ArgumentError,
      testing::message_contains(
          {"program 'train' updates experts.up: trained weights cannot be int8"}));
  BOOST_TEST(quantize({train}, *net.store, {.patterns = {"*down"}}).weights.size() == 1U);
  BOOST_CHECK_EXCEPTION(
      with_quantized({net.predict}, {{"experts.up", {WeightFormat::int8, 40, 72, false, 3}}}),
      ArgumentError,
      testing::message_contains({"experts.up is f32[4, 40, 72]: int8[3, 40, 72] cannot replace"}));
  Tensor bad = net.store->tensor("experts.up").clone();
  bad.mutable_data<float>()[2 * kWidth * kInner + 7] = NAN;
  net.store->set("experts.up", bad);
  BOOST_CHECK_EXCEPTION(quantize({net.predict}, *net.store), DataError,
                        testing::message_contains({"experts.up: matrix 2: weight [0, 7] is nan"}));
  // A parameter with three axes that is also read in another way is not converted.
  Graph g;
  const Variable w = g.variable("w", DType::f32, {2, 3, 3});
  const Value x = g.input("x", DType::f32, {4, 3}), sizes = g.input("sizes", DType::i64, {2});
  const Program p = Program("p").output("y", grouped_matmul(x, w, sizes)).output("sum", sum(w));
  auto store = std::make_shared<VariableStore>();
  Session(g, store).initialise();
  BOOST_CHECK_EXCEPTION(quantize({p}, *store), ArgumentError,
                        testing::message_contains({"the model has no matrix"}));
}

BOOST_AUTO_TEST_CASE(an_empty_stack_is_not_a_single_matrix) {
  Graph g;
  g.apply("cast", {g.variable("w", DType::bf16, {0, 5, 3})}, {{"dtype", DType::f32}}, {});
  BOOST_TEST(quantized_weights(g).empty());
  BOOST_TEST(count_parameters(g) == 0);
}

BOOST_AUTO_TEST_CASE(only_the_chosen_matrices_are_read) {
  ExpertNet net;
  const QuantizedModel model = quantize({net.predict}, *net.store, {.weights = WeightFormat::int8});
  // Memory of a matrix without rows may contain anything, such as NaN scales.
  auto store = std::make_shared<VariableStore>();
  for (const Variable& v : model.graph->variables()) {
    Tensor t = model.store->tensor(v.name()).clone();
    if (t.dtype() == DType::f32) {
      const std::int64_t size = t.numel() / kExperts;
      std::fill_n(t.mutable_data<float>() + 2 * size, size, NAN);
    }
    store->insert(v.name(), VariableKind::parameter, t);
  }
  for (const Ints& sizes : {Ints{1, 0, 0, 1}, Ints{20, 0, 0, 20}}) {
    BOOST_TEST(bitwise_equal(run(*model.graph, store, model.programs[0], sizes)["dx"],
                             run(*model.graph, model.store, model.programs[0], sizes)["dx"]));
  }
  Session session(*model.graph, model.store, {.threads = 1});
  const Program both = with_gradient(model.programs[0]);
  const auto bytes = [&](std::int64_t rows) {
    const auto plan = session.plan(both, {{"x", Sizes{rows, kWidth}}, {"sizes", Sizes{kExperts}}});
    return plan->cost().bytes;
  };
  // Two rows use at most half of the four matrices.
  BOOST_TEST(bytes(2) < 0.6 * bytes(4));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
