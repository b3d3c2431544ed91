#include "weft/graph/weights/lora.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/quantize.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

// A network with a square and a non-square weight matrix, one in each layout, and a table that is
// used by both a product and a row lookup.
struct AdaptedNet {
  Graph graph;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  Program train{"train"}, predict{"predict"};

  AdaptedNet() {
    const Value ids = graph.input("ids", DType::i32, {"batch"});
    const VariableOptions normal{.initializer = Initializer::normal(0.5)};
    const Variable table = graph.variable("table", DType::f32, {11, 6}, normal);
    const Variable up = graph.variable("up.weight", DType::f32, {6, 6}, normal);
    const Variable bias = graph.variable("up.bias", DType::f32, {6}, normal);
    const Variable down = graph.variable("down.weight", DType::f32, {7, 6}, normal);
    const Value h = tanh(linear(take(table, ids, 0), up, bias, LinearLayout::in_out));
    const Value y = linear(h, down) + sum(matmul(h, table, {.transpose_b = true}), {-1}, true);
    train.output("loss", mean(square(y)));
    predict.output("y", y);
    Session(graph, store, {.seed = 3}).initialise();
  }
};

Tensor run(Graph& graph, const std::shared_ptr<VariableStore>& store, const Program& program,
           const std::string& output) {
  Session session(graph, store, {.seed = 5});
  return session.run(program, {{"ids", sample_indices({4}, 4, 11).to(DType::i32)}})[output];
}

/// Sets all adapters to non-zero values.
void fill(AdaptedModel& model) {
  Session session(*model.graph, model.store, {.seed = 5});
  session.initialise();
  for (const std::string& name : model.matrices) {
    const Tensor b = session.value(name + ".lora_b");
    session.set_value(name + ".lora_b", sample_uniform(b.sizes(), 9).to(DType::f32));
  }
}

BOOST_AUTO_TEST_SUITE(lora)

BOOST_AUTO_TEST_CASE(new_adapters_do_not_change_results) {
  AdaptedNet net;
  const AdaptedModel model = add_lora({net.train, net.predict}, *net.store, {.rank = 2});
  BOOST_TEST((model.matrices == std::vector<std::string>{"up.weight", "down.weight"}));
  BOOST_TEST(bitwise_equal(run(*model.graph, model.store, model.programs[1], "y"),
                           run(net.graph, net.store, net.predict, "y")));
  std::vector<std::string> trainable;
  for (const Variable& v : model.graph->parameters()) trainable.push_back(v.name());
  BOOST_TEST((trainable == std::vector<std::string>{"up.weight.lora_a", "up.weight.lora_b",
                                                    "down.weight.lora_a", "down.weight.lora_b"}));
  BOOST_TEST((model.store->tensor("down.weight.lora_a").sizes() == Sizes{2, 6}));
  BOOST_TEST((model.store->tensor("down.weight.lora_b").sizes() == Sizes{7, 2}));
}

BOOST_AUTO_TEST_CASE(merged_matrices_match_the_adapters) {
  AdaptedNet net;
  const LoraOptions options{.rank = 2, .alpha = 3};
  AdaptedModel model = add_lora({net.predict}, *net.store, options);
  fill(model);
  const Tensor adapted = run(*model.graph, model.store, model.programs[0], "y");
  const Tensor before = net.store->tensor("up.weight");
  merge_lora({net.predict}, *net.store, lora_adapters(model.matrices, *model.store, options));
  const Tensor merged = run(net.graph, net.store, net.predict, "y");
  for (std::int64_t i = 0; i < merged.numel(); ++i)
    BOOST_TEST(std::abs(merged.at(i) - adapted.at(i)) < 2e-5 * (1 + std::abs(adapted.at(i))));
  BOOST_TEST(!bitwise_equal(before, net.store->tensor("up.weight")));
}

BOOST_AUTO_TEST_CASE(adapter_dropout_is_applied_in_training_only) {
  AdaptedNet net;
  AdaptedModel model = add_lora({net.train, net.predict}, *net.store, {.rank = 2, .dropout = 0.5});
  fill(model);
  const auto value = [&](int program, const char* output) {
    return run(*model.graph, model.store, model.programs[static_cast<std::size_t>(program)],
               output);
  };
  BOOST_TEST(bitwise_equal(value(1, "y"), value(1, "y")));
  BOOST_TEST(!bitwise_equal(value(0, "loss"), value(0, "loss")));  // the random key has advanced
}

BOOST_AUTO_TEST_CASE(only_matching_matrices_receive_adapters) {
  AdaptedNet net;
  const AdaptedModel model = add_lora({net.predict}, *net.store, {.patterns = {"up.*"}});
  BOOST_TEST((model.matrices == std::vector<std::string>{"up.weight"}));
  BOOST_TEST(!model.graph->has_variable("down.weight.lora_a"));
}

BOOST_AUTO_TEST_CASE(matrices_and_lookups_have_their_own_ranks_and_scales) {
  AdaptedNet net;
  const LoraOptions options{.rank = 4,
                            .alpha = 6,
                            .rank_stabilised = true,
                            .shapes = {{"down.weight", {.rank = 1, .alpha = 5}}},
                            .tied = {"table"},
                            .lookups = {{"table", {.rank = 9, .alpha = 6}}}};
  AdaptedModel model = add_lora({net.train, net.predict}, *net.store, options);
  BOOST_TEST((model.matrices == std::vector<std::string>{"up.weight", "down.weight", "table"}));
  fill(model);
  {
    Session session(*model.graph, model.store, {.seed = 5});
    const Tensor b = session.value("table.lora_embedding_b");
    session.set_value("table.lora_embedding_b", sample_uniform(b.sizes(), 9).to(DType::f32));
  }
  BOOST_TEST((model.store->tensor("down.weight.lora_a").sizes() == Sizes{1, 6}));
  BOOST_TEST((model.store->tensor("table.lora_embedding_a").sizes() == Sizes{9, 11}));
  BOOST_TEST((model.store->tensor("table.lora_embedding_b").sizes() == Sizes{6, 9}));
  const LoraAdapters values = lora_adapters(model.matrices, *model.store, options);
  BOOST_TEST(values.scale_of(values.adapters.at("up.weight")) == 3.0);
  BOOST_TEST(values.scale_of(values.adapters.at("down.weight")) == 5.0);
  BOOST_TEST(values.scale_of(values.lookups.at("table")) == 2.0);
  // The same values on top of the original give the same results.
  const Tensor adapted = run(*model.graph, model.store, model.programs[1], "y");
  TrainedAdapters trained;
  trained.options = options;
  trained.values = values;
  const AdaptedModel again = add_lora({net.predict}, *net.store, trained);
  BOOST_TEST(bitwise_equal(run(*again.graph, again.store, again.programs[0], "y"), adapted));
  // A network with separate tables for lookups and products can be merged.
  Graph graph;
  const auto store = std::make_shared<VariableStore>();
  for (const char* name : {"table", "up.weight", "up.bias", "down.weight"})
    store->insert(name, VariableKind::parameter, net.store->tensor(name).clone());
  store->insert("head", VariableKind::parameter, net.store->tensor("table").clone());
  const Value ids = graph.input("ids", DType::i32, {"batch"});
  const Variable table = graph.variable("table", DType::f32, {11, 6});
  const Value h = tanh(linear(take(table, ids, 0), graph.variable("up.weight", DType::f32, {6, 6}),
                              graph.variable("up.bias", DType::f32, {6}), LinearLayout::in_out));
  const Value y = linear(h, graph.variable("down.weight", DType::f32, {7, 6})) +
                  sum(matmul(h, graph.variable("head", DType::f32, {11, 6}), {.transpose_b = true}),
                      {-1}, true);
  Program separate("separate");
  separate.output("y", y);
  LoraAdapters moved = values;
  moved.adapters["head"] = moved.adapters.at("table");
  moved.adapters.erase("table");
  merge_lora({separate}, *store, moved);
  const Tensor merged = run(graph, store, separate, "y");
  for (std::int64_t i = 0; i < merged.numel(); ++i)
    BOOST_TEST(std::abs(merged.at(i) - adapted.at(i)) < 2e-5 * (1 + std::abs(adapted.at(i))));
  BOOST_TEST(bitwise_equal(
      merged_lora(net.store->tensor("down.weight"), true, values.adapters.at("down.weight"), 5),
      store->tensor("down.weight")));
  for (const bool lookups : {false, true}) {
    LoraAdapters one = values;
    one.adapters.clear();
    if (!lookups) {
      one.lookups.clear();
      one.adapters["table"] = values.adapters.at("table");
    }
    BOOST_CHECK_EXCEPTION(
        merge_lora({net.predict}, *net.store, one), ArgumentError,
        testing::says(lookups ? "changes only its lookups" : "changes only its products"));
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_lookup_adapters_match_finite_differences) {
  AdaptedNet net;
  AdaptedModel model =
      add_lora({net.train}, *net.store,
               {.rank = 2, .tied = {"table"}, .lookups = {{"table", {.rank = 3, .alpha = 2}}}});
  fill(model);
  {
    Session session(*model.graph, model.store, {.seed = 5});
    const Tensor b = session.value("table.lora_embedding_b");
    session.set_value("table.lora_embedding_b", sample_uniform(b.sizes(), 9).to(DType::f32));
  }
  GradientCheckOptions options{.feeds = {{"ids", sample_indices({4}, 4, 11).to(DType::i32)}}};
  for (const auto& [name, value] : model.store->snapshot())
    options.variables.push_back({name, value});
  std::vector<Value> wrt;
  for (const Variable& v : model.graph->parameters()) wrt.push_back(v);
  BOOST_TEST(wrt.size() == 8U);
  const GradientReport report =
      check_gradients(model.programs[0].outputs().front().second, wrt, options);
  BOOST_TEST(report.max_relative_error < 1e-7, report.worst);
}

BOOST_AUTO_TEST_CASE(replaced_parameters_become_trainable_floats) {
  AdaptedNet net;
  const Tensor down = sample_uniform({7, 6}, 4).to(DType::f32);
  TrainedAdapters adapters;
  adapters.options.rank = 2;
  adapters.values.adapters["up.weight"] = {sample_uniform({2, 6}, 1).to(DType::f32),
                                           sample_uniform({6, 2}, 2).to(DType::f32)};
  adapters.parameters["down.weight"] = down;
  const QuantizedModel base = quantize({net.predict}, *net.store, {.weights = WeightFormat::int8});
  const AdaptedModel model = add_lora(base.programs, *base.store, adapters);
  BOOST_TEST(bitwise_equal(model.store->tensor("down.weight"), down));
  BOOST_TEST(quantized_weights(*model.graph).contains("up.weight"));
  BOOST_TEST(!quantized_weights(*model.graph).contains("down.weight"));
  std::set<std::string> trainable;
  for (const Variable& v : model.graph->parameters()) trainable.insert(v.name());
  BOOST_TEST(
      (trainable == std::set<std::string>{"down.weight", "up.weight.lora_a", "up.weight.lora_b"}));
  static_cast<void>(run(*model.graph, model.store, model.programs[0], "y"));
  adapters.parameters["down.weight"] = Tensor::zeros(DType::f32, {7, 5});
  BOOST_CHECK_EXCEPTION(add_lora({net.predict}, *net.store, adapters), ArgumentError,
                        testing::says("the parameter down.weight that belongs to the adapters is "
                                      "f32[7, 5], but in the model it is f32[7, 6]"));
}

std::vector<QuantizedModel> quantised_models(const AdaptedNet& net) {
  std::vector<QuantizedModel> models;
  for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int8, WeightFormat::int4})
    models.push_back(quantize({net.train, net.predict}, *net.store, {.weights = format}));
  return models;
}

BOOST_AUTO_TEST_CASE(quantised_weights_can_have_adapters_and_stay_unchanged) {
  AdaptedNet net;
  for (const QuantizedModel& base : quantised_models(net)) {
    const AdaptedModel model = add_lora(base.programs, *base.store, {.rank = 2});
    BOOST_TEST((model.matrices == std::vector<std::string>{"up.weight", "down.weight"}));
    BOOST_TEST(bitwise_equal(run(*model.graph, model.store, model.programs[1], "y"),
                             run(*base.graph, base.store, base.programs[1], "y")));
    for (const Variable& v : model.graph->parameters())
      BOOST_TEST(v.name().find(".lora_") != std::string::npos, v.name());
    // No weights were copied, and there are no float copies of the quantised weights.
    for (const std::string& name : base.store->names()) {
      if (base.store->kind(name) != VariableKind::parameter) continue;
      BOOST_TEST(model.store->tensor(name).raw() == base.store->tensor(name).raw());
    }
    BOOST_TEST(model.store->contains("down.weight") == base.store->contains("down.weight"));
  }
}

/// Returns the gradients of the loss with respect to all adapters.
std::vector<Tensor> adapter_gradients(const AdaptedModel& model, std::int64_t rows, bool passes) {
  Program program("gradients");
  const std::vector<Variable> adapters = model.graph->parameters();
  const std::vector<Value> found = gradients(model.programs[0].outputs().front().second, adapters);
  for (std::size_t i = 0; i < found.size(); ++i) program.output(adapters[i].name(), found[i]);
  if (passes) {
    // Neither products nor their gradients create a float copy of a matrix.
    const Module module = run_passes(clone_program(program));
    for (const Node* node : module.program.nodes()) BOOST_TEST(node->op().name != "dequantize");
  }
  Session session(*model.graph, model.store, {.threads = 2, .passes = passes});
  const Results results =
      session.run(program, {{"ids", sample_indices({rows}, 4, 11).to(DType::i32)}});
  std::vector<Tensor> values;
  for (const Variable& adapter : adapters) values.push_back(results[adapter.name()]);
  return values;
}

BOOST_AUTO_TEST_CASE(gradients_with_quantised_weights_match_those_with_dequantised_weights) {
  AdaptedNet net;
  for (const QuantizedModel& base : quantised_models(net)) {
    AdaptedModel model = add_lora(base.programs, *base.store, {.rank = 2});
    const QuantizedModel floats = dequantize(base.programs, *base.store);
    AdaptedModel wide = add_lora(floats.programs, *floats.store, {.rank = 2});
    BOOST_TEST((wide.matrices == model.matrices));
    fill(model), fill(wide);
    for (const std::int64_t rows : {3, 40}) {
      const auto expected = adapter_gradients(wide, rows, false);
      for (const bool passes : {false, true}) {
        const auto actual = adapter_gradients(model, rows, passes);
        BOOST_REQUIRE(actual.size() == 4U);
        for (std::size_t i = 0; i < actual.size(); ++i) {
          double error = 0, size = 0;
          for (std::int64_t k = 0; k < actual[i].numel(); ++k) {
            error += std::pow(actual[i].at(k) - expected[i].at(k), 2);
            size += std::pow(expected[i].at(k), 2);
          }
          BOOST_TEST(size > 0);
          BOOST_TEST(std::sqrt(error / size) < 1e-6);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_with_quantised_weights_match_finite_differences) {
  AdaptedNet net;
  for (const QuantizedModel& base : quantised_models(net)) {
    AdaptedModel model = add_lora(base.programs, *base.store, {.rank = 2});
    fill(model);
    GradientCheckOptions options{.feeds = {{"ids", sample_indices({4}, 4, 11).to(DType::i32)}}};
    for (const auto& [name, value] : model.store->snapshot())
      options.variables.push_back({name, value});
    std::vector<Value> wrt;
    for (const Variable& v : model.graph->parameters()) wrt.push_back(v);
    const GradientReport report =
        check_gradients(model.programs[0].outputs().front().second, wrt, options);
    BOOST_TEST(report.max_relative_error < 1e-7, report.worst);
    BOOST_TEST(report.elements_checked > 40);
  }
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_requests) {
  AdaptedNet net;
  const auto refused = [](const auto& make, const std::string& part) {
    BOOST_CHECK_EXCEPTION(make(), ArgumentError, testing::message_contains({part}));
  };
  const auto add = [&](const LoraOptions& options) {
    return [&net, options] { add_lora({net.predict}, *net.store, options); };
  };
  refused(add({.rank = 0}), "rank must be at least 1, not 0");
  refused(add({.alpha = INFINITY}), "alpha must be positive and finite, not inf");
  refused(add({.dropout = 1}), "dropout must be in [0, 1), not 1");
  refused(add({.patterns = {"table"}}),
          "pattern 'table' matches no matrix that can have adapters; the candidates are: "
          "up.weight, down.weight");
  refused([&] { add_lora({Program("p")}, *net.store); }, "there are no programs");
  Program updates("updates");
  const Variable up = net.graph.find_variable("up.weight");
  updates.update(up, up * 2.0);
  refused([&] { add_lora({updates}, *net.store); }, "program 'updates' updates up.weight: pass");

  LoraAdapters adapters;
  const Tensor thin = Tensor::zeros(DType::f32, {2, 6});
  adapters.adapters["sideways"] = {thin, thin};
  refused([&] { merge_lora({net.predict}, *net.store, adapters); },
          "there is an adapter for sideways, which is not a weight matrix of the model");
  adapters.adapters = {{"down.weight", {thin, thin}}};
  refused([&] { merge_lora({net.predict}, *net.store, adapters); },
          "a matrix with 6 inputs and 7 outputs needs f32[rank, 6] and f32[7, rank]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
