// Programs with activations that are rounded to bytes: their gradients, and their products with
// quantised weights.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/testing/close.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

/// A matrix of random integers that its format stores exactly with scale 1: one weight of every
/// channel and group has the largest magnitude.
Tensor integer_matrix(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs,
                      std::uint64_t seed) {
  const std::int64_t most = format == QuantizedFormat::int4 ? 8 : 127;
  const Tensor random = sample_indices({inputs, outputs}, seed, 2 * most);
  Tensor w = Tensor::empty(DType::f32, {inputs, outputs});
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    const bool extreme = i / outputs % kQuantizedGroup == 0;
    w.mutable_data<float>()[i] =
        static_cast<float>(extreme ? -most : random.data<std::int64_t>()[i] - most + (most == 127));
  }
  return w;
}

/// Rows of random integers with the largest magnitude 127.
Tensor integer_rows(std::int64_t rows, std::int64_t inputs) {
  const Tensor random = sample_indices({rows, inputs}, 3, 255);
  Tensor x = Tensor::empty(DType::f32, {rows, inputs});
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    x.mutable_data<float>()[i] =
        static_cast<float>(i % inputs == 0 ? 127 : random.data<std::int64_t>()[i] - 127);
  }
  return x;
}

/// The product of rounded activations with two quantised matrices, and a layer with an epilogue.
/// All numbers are integers below 2^24, so that float arithmetic is exact.
struct IntegerNet {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program program{"predict"};

  explicit IntegerNet(WeightFormat format, bool rounded = true) {
    const Value x = graph.input("x", DType::f32, {"rows", kInputs});
    const Value operand = rounded ? fake_quantize(x) : x;
    const Variable first = graph.variable("first", DType::f32, {kInputs, kOutputs});
    const Variable second = graph.variable("second", DType::f32, {kOutputs, kInputs});
    const Variable bias = graph.variable("bias", DType::f32, {kOutputs});
    program.output("plain", matmul(operand, first));
    program.output("steps", relu(matmul(operand, second, {.transpose_b = true}) + bias));
    const auto stored = *quantized_format(format);
    store->insert("first", VariableKind::parameter, integer_matrix(stored, kInputs, kOutputs, 1));
    const Tensor by_input = integer_matrix(stored, kInputs, kOutputs, 2);
    Tensor by_output = Tensor::empty(DType::f32, {kOutputs, kInputs});
    for (std::int64_t i = 0; i < kInputs; ++i) {
      for (std::int64_t j = 0; j < kOutputs; ++j) {
        by_output.mutable_data<float>()[j * kInputs + i] = by_input.data<float>()[i * kOutputs + j];
      }
    }
    store->insert("second", VariableKind::parameter, by_output);
    store->insert("bias", VariableKind::parameter, integer_rows(1, kOutputs).reshape({kOutputs}));
  }
  static constexpr std::int64_t kInputs = 70, kOutputs = 37;
};

std::map<std::string, int> counts_after_passes(const Program& program) {
  std::map<std::string, int> counts;
  const Module module = run_passes(clone_program(program));
  for (const Node* node : module.program.nodes()) ++counts[node->op().name];
  return counts;
}

/// An int8 matrix that is fed as inputs "q" and "scale", so that passes do not fold it.
struct FedMatrix {
  QuantizedMatrix stored;
  Value value;

  FedMatrix(Graph& graph, const Tensor& w)
      : stored(quantize_matrix(w, QuantizedFormat::int8, false)) {
    const Value q = graph.input("q", ValueType{DType::i8, Shape(stored.q.sizes())});
    const Value scale = graph.input("scale", ValueType{DType::f32, Shape(stored.scale.sizes())});
    value = graph.apply("dequantize", {q, scale}, {{"inputs", w.size(0)}, {"outputs", w.size(1)}})
                .output(0);
  }
  NamedTensors with(const Tensor& x) const {
    return {{"x", x}, {"q", stored.q}, {"scale", stored.scale}};
  }
};

constexpr WeightFormat kIntegerFormats[] = {WeightFormat::int8, WeightFormat::int4,
                                            WeightFormat::q8_0};

BOOST_AUTO_TEST_SUITE(integer_products)

BOOST_AUTO_TEST_CASE(integer_models_give_the_bits_of_float_arithmetic) {
  for (const WeightFormat format : kIntegerFormats) {
    IntegerNet net(format);
    const QuantizedModel model = quantize({net.program}, *net.store, {.weights = format});
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 130}) {
      const NamedTensors feeds = {{"x", integer_rows(rows, IntegerNet::kInputs)}};
      Session plain(net.graph, net.store, {.passes = false});
      const Results expected = plain.run(net.program, feeds);
      testing::for_each_simd_target([&](const char* target) {
        for (const int threads : {1, 2, 3, 4}) {
          BOOST_TEST_CONTEXT(weight_format_name(format)
                             << " " << target << " " << rows << " rows " << threads << " threads") {
            Session session(*model.graph, model.store, {.threads = threads});
            const Results results = session.run(model.programs[0], feeds);
            for (const char* name : {"plain", "steps"})
              BOOST_TEST(testing::expect_same_bits(results[name], expected[name]));
          }
        }
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(products_of_one_activation_share_its_integers) {
  for (const WeightFormat format : kIntegerFormats) {
    IntegerNet net(format);
    const QuantizedModel model = quantize({net.program}, *net.store, {.weights = format});
    const auto counts = counts_after_passes(model.programs[0]);
    BOOST_TEST_CONTEXT(weight_format_name(format)) {
      BOOST_TEST(counts.at("quantize_rows") == 1);
      BOOST_TEST(counts.at("integer_matmul") == 1);
      BOOST_TEST(counts.at("integer_matmul_fused") == 1);
      BOOST_TEST(!counts.contains("fake_quantize"));
      BOOST_TEST(!counts.contains("dequantize"));
      BOOST_TEST(!counts.contains("relu"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_product_rounds_its_result_for_the_next_product) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {"rows", 48});
  const Variable up = graph.variable("up", DType::f32, {48, 1100});
  const Variable down = graph.variable("down", DType::f32, {1100, 48});
  auto store = std::make_shared<VariableStore>();
  store->insert("up", VariableKind::parameter, sample_uniform({48, 1100}, 61));
  store->insert("down", VariableKind::parameter, sample_uniform({1100, 48}, 62));
  const Value hidden = gelu(matmul(fake_quantize(x), up));
  Program alone("alone"), both("both"), last("last");
  alone.output("y", matmul(fake_quantize(hidden), down));
  both.output("y", matmul(fake_quantize(hidden), down));
  both.output("hidden", hidden);
  last.output("y", matmul(fake_quantize(graph.input("h", DType::f32, {"rows", 1100})), down));
  const QuantizedModel model =
      quantize({alone, both, last}, *store, {.weights = WeightFormat::int8});
  for (const Program& program : model.programs)
    BOOST_TEST(counts_after_passes(program).at("quantize_rows") == 1);  // of the input
  for (const std::int64_t rows : {1, 5, 600}) {
    const Tensor input = sample_uniform({rows, 48}, 63);
    testing::for_each_simd_target([&](const char* target) {
      for (const int threads : {1, 2, 3}) {
        BOOST_TEST_CONTEXT(target << " " << rows << " rows " << threads << " threads") {
          Session session(*model.graph, model.store, {.threads = threads});
          const Results results = session.run(model.programs[1], {{"x", input}});
          const Results expected = session.run(model.programs[2], {{"h", results["hidden"]}});
          BOOST_TEST(testing::expect_same_bits(results["y"], expected["y"]));
          BOOST_TEST(testing::expect_same_bits(session.run(model.programs[0], {{"x", input}})["y"],
                                               expected["y"]));
        }
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(activations_are_rounded_only_if_the_program_requests_it) {
  IntegerNet net(WeightFormat::int8, false);
  const QuantizedModel model = quantize({net.program}, *net.store, {.weights = WeightFormat::int8});
  const auto counts = counts_after_passes(model.programs[0]);
  BOOST_TEST(!counts.contains("quantize_rows"));
  BOOST_TEST(counts.at("quantized_matmul") == 1);
}

BOOST_AUTO_TEST_CASE(random_products_equal_the_float_meaning_to_float_rounding) {
  for (const WeightFormat format : kIntegerFormats) {
    for (const bool is_static : {false, true}) {
      Graph graph;
      const auto store = std::make_shared<VariableStore>();
      const Value x = graph.input("x", DType::f32, {2, "rows", 100});
      const Value rounded = is_static
                                ? fake_quantize(x, graph.constant(Tensor::scalar(DType::f32, 0.01)))
                                : fake_quantize(x);
      Program program("predict");
      program.output("y", matmul(rounded, graph.variable("w", DType::f32, {100, 50})));
      store->insert("w", VariableKind::parameter, sample_uniform({100, 50}, 5));
      const QuantizedModel model = quantize({program}, *store, {.weights = format});
      Tensor rows = sample_uniform({2, 9, 100}, 6);
      rows.mutable_data<float>()[100] = std::numeric_limits<float>::quiet_NaN();
      Session folded(*model.graph, model.store);
      Session plain(*model.graph, model.store, {.passes = false});
      const Tensor y = folded.run(model.programs[0], {{"x", rows}})["y"];
      const Tensor expected = plain.run(model.programs[0], {{"x", rows}})["y"];
      for (std::int64_t i = 0; i < y.numel(); ++i) {
        BOOST_TEST_CONTEXT(weight_format_name(format) << " element " << i) {
          if (i / 50 == 1) {
            BOOST_TEST((std::isnan(y.at(i)) && std::isnan(expected.at(i))));
          } else {
            BOOST_REQUIRE_SMALL(y.at(i) - expected.at(i), 2e-5);
          }
        }
      }
    }
  }
}

// Integers below 2^24, so that float arithmetic is exact.
BOOST_AUTO_TEST_CASE(products_of_scaled_levels_subtract_their_zero_point) {
  const Tensor bytes = sample_indices({2, 5, 70}, 4, 256);
  for (const DType dtype : {DType::u8, DType::i8}) {
    for (const char* zero : {"none", "constant", "fed", "fraction", "rows"}) {
      BOOST_TEST_CONTEXT(dtype_name(dtype) << " " << zero) {
        Graph graph;
        const Value levels = graph.input("x", dtype, {"batch", 5, 70});
        const Value scale = graph.input("s", DType::f32, {});
        const FedMatrix w(graph, integer_matrix(QuantizedFormat::int8, 70, 37, 5));
        const Value fed = graph.input("z", dtype, {});
        const std::string_view kind = zero;
        Value x = cast(levels, DType::f32);
        if (kind == "constant") x = x - 120.0;
        if (kind == "fed") x = x - cast(fed, DType::f32);
        if (kind == "fraction") x = x - 0.5;
        if (kind == "rows") x = x - graph.constant(Tensor::full(DType::f32, {5, 1}, 3));
        Program program("predict");
        program.output("y", relu(matmul(x * scale, w.value)));
        const bool is_integer = kind != "fraction" && kind != "rows";
        BOOST_TEST(counts_after_passes(program)["integer_matmul_fused"] == (is_integer ? 1 : 0));
        NamedTensors feeds = w.with(bytes.to(dtype));
        feeds.emplace_back("s", Tensor::scalar(DType::f32, 2));
        feeds.emplace_back("z", Tensor::scalar(dtype, 7));
        if (!is_integer) continue;
        Session session(graph), plain(graph, SessionOptions{.passes = false});
        BOOST_TEST(testing::expect_same_bits(session.run(program, feeds)["y"],
                                             plain.run(program, feeds)["y"]));
      }
    }
  }
}

/// The weight [O, C, kh, kw] of a convolution as an int8 matrix of integers with scale 1.
struct FedKernel {
  QuantizedMatrix stored;
  Value value;

  FedKernel(Graph& graph, const std::string& name, const Sizes& sizes) {
    const std::int64_t inputs = sizes[1] * sizes[2] * sizes[3], outputs = sizes[0];
    stored = quantize_matrix(integer_matrix(QuantizedFormat::int8, inputs, outputs, 8),
                             QuantizedFormat::int8, false);
    const Value q = graph.input(name + ".q", ValueType{DType::i8, Shape(stored.q.sizes())});
    const Value scale =
        graph.input(name + ".s", ValueType{DType::f32, Shape(stored.scale.sizes())});
    const Value matrix =
        graph
            .apply("dequantize", {q, scale},
                   {{"inputs", inputs}, {"outputs", outputs}, {"transposed", true}})
            .output(0);
    value = permute(reshape(matrix, {outputs, sizes[2], sizes[3], sizes[1]}), {0, 3, 1, 2});
  }
  void feed(NamedTensors& feeds, const std::string& name) const {
    feeds.emplace_back(name + ".q", stored.q);
    feeds.emplace_back(name + ".s", stored.scale);
  }
};

/// Rounds to u8 and back, as QuantizeLinear and DequantizeLinear do.
Value rounded_to_bytes(const Value& x, double scale, double zero) {
  const Value q = cast(clamp(round(x / scale) + zero, 0.0, 255.0), DType::u8);
  return (cast(q, DType::f32) - zero) * scale;
}

// A residual block. Integers below 2^24, so that float arithmetic is exact.
BOOST_AUTO_TEST_CASE(convolutions_of_bytes_stay_in_channels_last_order) {
  Graph graph;
  const Value x = graph.input("x", DType::u8, {"batch", 3, "height", "width"});
  const FedKernel first(graph, "first", {20, 3, 3, 2}), second(graph, "second", {20, 20, 1, 1});
  const FedKernel grouped(graph, "grouped", {20, 5, 1, 1});
  const Value bias = graph.input("bias", DType::f32, {20});
  const Value levels = (cast(x, DType::f32) - 100.0) * 0.5;
  const Value a =
      conv2d(levels, first.value, bias, {.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}});
  const Value b = rounded_to_bytes(relu(a), 64, 3);
  const Value c = rounded_to_bytes(conv2d(b, second.value) + b, 8192, 128);
  Program program("predict"), floats("floats");
  program.output("y", c);
  floats.output("y", conv2d(b, grouped.value, {}, {.groups = 4}));
  auto counts = counts_after_passes(program);
  BOOST_TEST(counts["conv2d"] + counts["conv2d_fused"] == 0);
  BOOST_TEST(counts["integer_matmul_fused"] == 2);
  BOOST_TEST(counts["permute"] == 2);  // of x and y
  counts = counts_after_passes(floats);
  BOOST_TEST(counts["conv2d"] + counts["conv2d_fused"] == 1);
  for (const auto& [batch, height, width] : {std::array<std::int64_t, 3>{1, 9, 12}, {3, 4, 5}}) {
    NamedTensors feeds = {{"x", sample_indices({batch, 3, height, width}, 9, 256).to(DType::u8)},
                          {"bias", integer_rows(1, 20).reshape({20})}};
    first.feed(feeds, "first");
    second.feed(feeds, "second");
    Session session(graph), plain(graph, SessionOptions{.passes = false});
    BOOST_TEST(testing::expect_same_bits(session.run(program, feeds)["y"],
                                         plain.run(program, feeds)["y"]));
  }
}

BOOST_AUTO_TEST_CASE(longer_sums_are_multiplied_as_floats) {
  const std::int64_t inputs = 131072;  // 128 * 128 * inputs = 2^31
  Graph graph;
  const Value x = graph.input("x", DType::f32, {1, inputs});
  const FedMatrix w(graph, Tensor::full(DType::f32, {inputs, 3}, -1));
  Program program("predict");
  program.output("y", matmul(fake_quantize(x), w.value));
  BOOST_TEST(!counts_after_passes(program).contains("integer_matmul"));
  Session session(graph);
  const Tensor y = session.run(program, w.with(Tensor::full(DType::f32, {1, inputs}, 127)))["y"];
  BOOST_TEST(std::abs(y.at(2) / (-127.0 * static_cast<double>(inputs)) - 1) < 1e-3);
}

BOOST_AUTO_TEST_CASE(products_with_the_transposed_matrix_are_multiplied_as_floats) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {3, 20});
  const FedMatrix w(graph, sample_uniform({20, 20}, 5));
  const Value y = matmul(fake_quantize(x), w.value);
  Program program("gradients");
  program.output("dx", gradients(sum(square(y)), {x})[0]);  // 2 y w^T
  program.output("back", matmul(fake_quantize(y), w.value, {.transpose_b = true}));
  auto counts = counts_after_passes(program);
  BOOST_TEST(counts["integer_matmul"] + counts["integer_matmul_fused"] == 1);
  BOOST_TEST(counts["quantized_matmul"] + counts["quantized_matmul_fused"] == 2);
  Session session(graph), plain(graph, SessionOptions{.passes = false});
  const NamedTensors feeds = w.with(sample_uniform({3, 20}, 6));
  const Results results = session.run(program, feeds), expected = plain.run(program, feeds);
  for (const char* name : {"dx", "back"}) {
    for (std::int64_t i = 0; i < 60; ++i)
      BOOST_REQUIRE_SMALL(results[name].at(i) - expected[name].at(i), 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(gradients_pass_straight_through_and_stop_at_clamped_elements) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {2, 3}), g = graph.input("g", DType::f32, {2, 3});
  const Value scale = graph.constant(Tensor::scalar(DType::f32, 0.5));
  Program program("gradients");
  program.output("dynamic", gradients(sum(fake_quantize(x) * g), {x})[0]);
  program.output("static", gradients(sum(fake_quantize(x, scale) * g), {x})[0]);
  const Tensor gs = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  Session session(graph);
  const Results results = session.run(
      program, {{"x", Tensor::of<float>({2, 3}, {-64, 63.75f, 1, 63.8f, 0.2f, -63})}, {"g", gs}});
  for (std::int64_t i = 0; i < 6; ++i) {
    BOOST_TEST(results["dynamic"].at(i) == gs.at(i));
    BOOST_TEST(results["static"].at(i) == (i == 0 || i == 3 ? 0 : gs.at(i)));
  }
}

BOOST_AUTO_TEST_CASE(a_scale_with_axes_is_rejected) {
  Graph graph;
  const Value x = graph.input("x", DType::f32, {2, 3}), s = graph.input("s", DType::f32, {3});
  BOOST_CHECK_EXCEPTION(fake_quantize(x, s), ShapeError,
                        testing::message_contains({"scale must have 0 axes, but f32[3] has 1"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
