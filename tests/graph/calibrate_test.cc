// Statistics of the inputs and outputs of matrices on data: static scales, errors, and
// activation-aware scaling.
#include "weft/graph/weights/calibrate.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/activation_aware.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/text_files.h"

namespace weft {
namespace {

double error_of_outputs(const Tensor& actual, const Tensor& expected) {
  BOOST_REQUIRE((actual.sizes() == expected.sizes()));
  double error = 0, size = 0;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    error += std::pow(actual.at(i) - expected.at(i), 2);
    size += std::pow(expected.at(i), 2);
  }
  return std::sqrt(error / size);
}

BOOST_AUTO_TEST_SUITE(calibrating)

// x of [rows, 2] times a matrix with exact int8 values, and times another one.
struct Observed {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program program{"p"};

  Observed() {
    const Value x = graph.input("x", DType::f32, {"rows", 2});
    const Variable exact = graph.variable("exact", DType::f32, {2, 2});
    const Variable other = graph.variable("other", DType::f32, {2, 2});
    graph.variable("unread", DType::f32, {2, 2});
    program.output("y", matmul(x, exact) + matmul(x * 2, other));
    store->insert("exact", VariableKind::parameter, Tensor::of<float>({2, 2}, {127, 1, 3, 127}));
    store->insert("other", VariableKind::parameter,
                  Tensor::of<float>({2, 2}, {1, 0.3F, 0.0123F, 0.77F}));
  }
  void run(const ObservedModel& observed) const {
    Session session(*observed.graph, observed.store);
    for (const Tensor& x :
         {Tensor::of<float>({1, 2}, {1, -4}), Tensor::of<float>({3, 2}, {-2, 0.5F, 1, 1, 0, 0})}) {
      const Tensor y = session.run(observed.programs[0], {{"x", x}})["y"];
      BOOST_TEST(bitwise_equal(y, Session(*graph_pointer(), store).run(program, {{"x", x}})["y"]));
    }
  }

 private:
  Graph* graph_pointer() const { return const_cast<Graph*>(&graph); }
};

BOOST_AUTO_TEST_CASE(observed_programs_gather_statistics_of_inputs_over_all_runs) {
  const Observed net;
  const ObservedModel observed = observe_inputs({net.program}, *net.store);
  net.run(observed);
  const auto inputs = input_statistics(observed);
  BOOST_REQUIRE(inputs.size() == 2U);
  for (const auto& [name, factor] : {std::pair("exact", 1.0F), std::pair("other", 2.0F)}) {
    BOOST_TEST(
        bitwise_equal(inputs.at(name).largest, Tensor::of<float>({2}, {2 * factor, 4 * factor})));
    BOOST_TEST(
        bitwise_equal(inputs.at(name).total, Tensor::of<float>({2}, {4 * factor, 5.5F * factor})));
    BOOST_TEST(
        bitwise_equal(inputs.at(name).squares,
                      Tensor::of<float>({2}, {6 * factor * factor, 17.25F * factor * factor})));
  }
  BOOST_TEST(input_statistics(observe_inputs({net.program}, *net.store, {"e*"})).size() == 1U);
  check_error_message<ArgumentError>([&] { observe_inputs({net.program}, *net.store, {"unread"}); },
                                     "pattern 'unread' matches no matrix with inputs");
}

BOOST_AUTO_TEST_CASE(errors_of_outputs_and_weights_are_measured) {
  const Observed net;
  const QuantizedModel model = quantize({net.program}, *net.store, {.weights = WeightFormat::int8});
  const ObservedModel observed = observe_errors({net.program}, *net.store, model);
  BOOST_TEST(output_errors(observed).empty());  // nothing has run yet
  net.run(observed);
  const auto outputs = output_errors(observed), weights = weight_errors(*net.store, model);
  BOOST_TEST(outputs.at("exact") == 0);
  BOOST_TEST(weights.at("exact") == 0);
  BOOST_TEST(outputs.at("other") > 1e-4);
  BOOST_TEST(outputs.at("other") < 0.01);
  BOOST_TEST(weights.at("other") > 1e-4);
  BOOST_TEST(weights.at("other") < 0.01);
}

BOOST_AUTO_TEST_CASE(static_scales_clip_rare_large_inputs) {
  Graph graph;
  const auto store = std::make_shared<VariableStore>();
  const Value x = graph.input("x", DType::f32, {"rows", 4});
  const Variable w = graph.variable("w", DType::f32, {4, 3});
  const Variable tiny = graph.variable("tiny", DType::f32, {4, 3});
  const Program program =
      Program("p").output("y", matmul(x, w)).output("z", matmul(x * 1e-31, tiny));
  Session(graph, store, {.seed = 3}).initialise();
  store->set("w", Tensor::full(DType::f32, {4, 3}, 0.5));
  // The scale max / 127 represents all inputs exactly, so it is the best one.
  const auto scale_for = [&](const Tensor& values) {
    const ObservedModel ranges = observe_inputs({program}, *store);
    Session(*ranges.graph, ranges.store).run(ranges.programs[0], {{"x", values}});
    const auto inputs = input_statistics(ranges);
    const ObservedModel scales = observe_scales({program}, *store, inputs);
    Session(*scales.graph, scales.store).run(scales.programs[0], {{"x", values}});
    const auto best = best_scales(scales, inputs);
    BOOST_TEST(best.size() == 1U);  // not for `tiny`: its inputs have no scale
    return best.at("w");
  };
  BOOST_TEST(scale_for(Tensor::of<float>({2, 4}, {127, 3, -5, 64, 0, 1, 2, -127})) == 1);
  // Clipping 100 to about 85 is better than rounding 80,000 inputs of 0.3 to 0.
  Tensor many = Tensor::full(DType::f32, {20'000, 4}, 0.3);
  many.mutable_data<float>()[5] = 100;
  const float clipped = scale_for(many);
  BOOST_TEST(clipped < 100.0F / 127);
  BOOST_TEST(clipped > 0.1F);
}

BOOST_AUTO_TEST_CASE(percentile_scales_ignore_outliers) {
  Graph graph;
  const auto store = std::make_shared<VariableStore>();
  const Value x = graph.input("x", DType::f32, {"rows", 5});
  const Variable w = graph.variable("w", DType::f32, {5, 3});
  const Variable zero = graph.variable("zero", DType::f32, {5, 3});
  const Program program = Program("p").output("y", matmul(x, w)).output("z", matmul(x * 0, zero));
  Session(graph, store, {.seed = 3}).initialise();
  // 0, 0, -1, 2, ..., 197 and an outlier, in two runs.
  Tensor values = Tensor::zeros(DType::f32, {40, 5});
  for (std::int64_t i = 2; i < 199; ++i)
    values.mutable_data<float>()[i] = static_cast<float>(i % 2 == 0 ? 1 - i : i - 1);
  values.mutable_data<float>()[199] = 1e6F;
  const auto run = [&](const ObservedModel& observed) {
    Session session(*observed.graph, observed.store);
    for (const std::int64_t first : {0, 20}) {
      Tensor rows = Tensor::empty(DType::f32, {20, 5});
      std::copy_n(values.data<float>() + 5 * first, 100, rows.mutable_data<float>());
      session.run(observed.programs[0], {{"x", rows}});
    }
  };
  const ObservedModel ranges = observe_inputs({program}, *store);
  run(ranges);
  const auto inputs = input_statistics(ranges);
  const ObservedModel magnitudes = observe_magnitudes({program}, *store, inputs);
  run(magnitudes);
  const auto limit = [&](double percentile) {
    const auto scales = percentile_scales(magnitudes, inputs, percentile);
    BOOST_TEST(scales.size() == 1U);  // not for `zero`, which has only zeros as inputs
    return scales.at("w") * 127;
  };
  BOOST_TEST(limit(100) == 1e6F);
  // The largest 0.5% is the outlier; the limits of bins are up to 2.2% above the percentiles.
  for (const auto& [percentile, largest] :
       {std::pair(99.9, 1e6F), {99.5, 197}, {99, 196}, {50, 98}}) {
    BOOST_TEST(limit(percentile) >= largest * (1 - 1e-6), percentile);
    BOOST_TEST(limit(percentile) <= largest * 1.022F, percentile);
  }
  for (const double invalid : {0.0, -1.0, 100.5, static_cast<double>(NAN)})
    check_error_message<ArgumentError>([&] { percentile_scales(magnitudes, inputs, invalid); },
                                       "must be above 0 and at most 100, not ");
}

// Two matrices in different layouts that read one norm, and a matrix without a norm.
struct NormedNet {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program program{"p"};
  Value x, h;
  Variable gain, bias;

  explicit NormedNet(bool rms = false) {
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    x = graph.input("x", DType::f32, {"rows", 64});
    gain = graph.variable("gain", DType::f32, {64}, normal);
    if (!rms) bias = graph.variable("bias", DType::f32, {64}, normal);
    h = rms ? rms_norm(x, gain) : layer_norm(x, gain, bias);
    const Variable a = graph.variable("a", DType::f32, {64, 40}, normal);
    const Variable b = graph.variable("b", DType::f32, {40, 64}, normal);
    const Variable c = graph.variable("c", DType::f32, {40, 24}, normal);
    program.output("y", matmul(tanh(matmul(h, a)) + matmul(h, b, {.transpose_b = true}), c));
    Session(graph, store, {.seed = 3}).initialise();
    Tensor gains = store->tensor("gain").clone();
    for (const std::int64_t large : {3, 17}) gains.mutable_data<float>()[large] = 30;
    store->set("gain", gains);
  }
  Tensor run(const std::shared_ptr<VariableStore>& values) {
    return Session(graph, values).run(program, {{"x", sample_uniform({50, 64}, 4)}})["y"];
  }
  std::map<std::string, InputStatistics> statistics() {
    const ObservedModel observed = observe_inputs({program}, *store);
    Session(*observed.graph, observed.store)
        .run(observed.programs[0], {{"x", sample_uniform({200, 64}, 5)}});
    return input_statistics(observed);
  }
};

BOOST_AUTO_TEST_CASE(scaled_weights_have_the_same_outputs_and_smaller_rounding_errors) {
  for (const bool rms : {false, true}) {
    NormedNet net(rms);
    const ScaledWeights scaled =
        scale_weights({net.program}, *net.store, net.statistics(), QuantizedFormat::int4);
    BOOST_REQUIRE(scaled.groups.size() == 1U);
    BOOST_TEST(scaled.groups[0].gain == "gain");
    BOOST_TEST((scaled.groups[0].matrices == std::vector<std::string>{"a", "b"}));
    BOOST_TEST(scaled.groups[0].alpha > 0);
    BOOST_TEST(scaled.groups[0].error_after < 0.8 * scaled.groups[0].error_before);
    const Tensor exact = net.run(net.store);
    BOOST_TEST(error_of_outputs(net.run(scaled.store), exact) < 1e-6);
    BOOST_TEST(!bitwise_equal(scaled.store->tensor("a"), net.store->tensor("a")));
    BOOST_TEST(bitwise_equal(scaled.store->tensor("c"), net.store->tensor("c")));
    const auto error = [&](const VariableStore& store) {
      const QuantizedModel model =
          quantize({net.program}, store, {.weights = WeightFormat::int4, .patterns = {"a", "b"}});
      Session session(*model.graph, model.store);
      return error_of_outputs(
          session.run(model.programs[0], {{"x", sample_uniform({50, 64}, 4)}})["y"], exact);
    };
    BOOST_TEST(error(*scaled.store) < 0.95 * error(*net.store));
  }
}

BOOST_AUTO_TEST_CASE(matrices_are_scaled_only_if_nothing_else_reads_their_norm) {
  const auto check_no_groups = [](NormedNet& net) {
    check_error_message<ArgumentError>(
        [&] { scale_weights({net.program}, *net.store, net.statistics(), QuantizedFormat::int4); },
        "no matrix can be scaled: none reads only the output of a norm");
  };
  {
    NormedNet net;
    net.program.output("h", net.h);
    check_no_groups(net);
  }
  {
    NormedNet net;
    net.program.output("more", net.h + 1);
    check_no_groups(net);
  }
  {
    NormedNet net;
    net.program.output("bias", net.bias * 2);
    check_no_groups(net);
  }
  NormedNet net;
  check_error_message<ArgumentError>(
      [&] {
        scale_weights({net.program}, *net.store, net.statistics(), QuantizedFormat::int4, {"a"});
      },
      "no matrix can be scaled: none reads only the output of a norm");
  check_error_message<ArgumentError>(
      [&] { scale_weights({net.program}, *net.store, {}, QuantizedFormat::int4); },
      "there are no statistics of the inputs of a");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
