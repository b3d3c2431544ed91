#include "weft/models/layers/experts/mixture_of_experts.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/graph/weights/quantize.h"
#include "weft/testing/model_checks.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using nlohmann::json;

Tensor doubles(const json& values, const Sizes& sizes) {
  return Tensor::of<double>(sizes, values.get<std::vector<double>>());
}

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// A layer with its results and the gradients of all parameters and of x.
struct Built {
  Graph g;
  MixtureOfExpertsOutput out;
  Program program{"p"};
};

/// Builds the layer over x [batch, width] with the loss sum(g y) + 0.3 balancing + 0.2 z.
std::unique_ptr<Built> build_layer(const MixtureOfExpertsOptions& options, DType dtype,
                                   std::int64_t width = 4) {
  auto built = std::make_unique<Built>();
  Graph& g = built->g;
  const Value x = g.input("x", dtype, {"batch", width});
  const Value weights = g.input("g", dtype, {"batch", width});
  built->out = mixture_of_experts(Scope(g, "moe"), x, options);
  const MixtureOfExpertsOutput& out = built->out;
  const Value loss = sum(weights * out.y) + 0.3 * out.balancing_loss + 0.2 * out.z_loss;
  built->program.output("y", out.y)
      .output("balancing_loss", out.balancing_loss)
      .output("z_loss", out.z_loss)
      .output("counts", out.expert_counts)
      .output("dropped", out.dropped_choices);
  std::vector<Value> wrt = {x};
  for (const Variable& v : g.parameters()) wrt.push_back(v);
  const std::vector<Value> gradient = gradients(loss, wrt);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    built->program.output(i == 0 ? "dx" : "d " + g.parameters()[i - 1].name(), gradient[i]);
  }
  return built;
}

/// The options of a case in cases.json (see make.py). A case lacks the keys of options that it does
/// not set.
MixtureOfExpertsOptions options_of(const json& c) {
  const double capacity = c["capacity"];
  return {.experts = c.value("experts", 3),
          .experts_per_token = c["k"],
          .scores = c["scores"] == "softmax" ? RouterScores::softmax : RouterScores::sigmoid,
          .normalize_weights = c["normalize"],
          .scale = c.value("scale", 1.0),
          .weights_on_input = c.value("weights_on_input", false),
          .router_bias = c.value("router_bias", false),
          .groups = c.value("groups", 1),
          .groups_per_token = c.value("groups_per_token", 1),
          .group_score =
              c.value("best_two", false) ? RouterGroupScore::best_two : RouterGroupScore::best,
          .correction = c.contains("correction"),
          .inner = 5,
          .activation = parse_choice<Activation>(c["activation"].get<std::string>()),
          .gated = c["gated"],
          .bias = c["bias"],
          .limit = c.value("limit", 0.0),
          .weight_layout = c.value("out_in", false) ? LinearLayout::out_in : LinearLayout::in_out,
          .shared_inner = c.value("shared", 0),
          .shared_gate = c.value("shared_gate", false),
          .capacity_factor = capacity > 0 ? std::optional(capacity) : std::nullopt};
}

/// Sets the router so that the logits are 10 x: with the identity as weight, token t chooses the
/// experts with the largest elements of x[t].
void set_identity_router(Session& session, std::int64_t width) {
  Tensor identity = Tensor::zeros(DType::f64, {width, width});
  for (std::int64_t i = 0; i < width; ++i) identity.mutable_data<double>()[i * width + i] = 10;
  session.set_value("moe.router.weight", identity);
}

/// The layer as a loop over experts, each applied to all tokens and masked. `kept` [tokens, k] is 1
/// for choices that are computed.
Value loop_over_experts(const MixtureOfExperts& layer, const Value& x, const Value& kept) {
  const Routing routing = layer.router(x);
  Value y;
  for (std::int64_t e = 0; e < layer.router.options.experts; ++e) {
    const auto expert = [&](const Value& rows, const Variable& weight, const Variable& bias) {
      const Value product = matmul(rows, select(weight, 0, e));
      return bias.defined() ? product + select(bias, 0, e) : product;
    };
    const Experts& experts = layer.experts;
    Value hidden = expert(x, experts.up, experts.up_bias);
    hidden = experts.gate.defined()
                 ? activate(experts.activation, expert(x, experts.gate, experts.gate_bias)) * hidden
                 : activate(experts.activation, hidden);
    const Value mask = cast(equal(routing.experts, e), x.dtype()) * kept;
    const Value part =
        expert(hidden, experts.down, experts.down_bias) * sum(routing.weights * mask, {1}, true);
    y = y.defined() ? y + part : part;
  }
  return y;
}

/// Which choices are within the capacity, by a cumulative sum over one-hot choices (GShard).
Value within_capacity(const Routing& routing, std::int64_t limit) {
  const Value ordered = transpose(routing.experts);  // [k, tokens]
  const Value one = one_hot(flatten(ordered), routing.counts.shape()[0], DType::i64);
  const Value position = sum(cumsum(one, 0) * one, {1}) - 1;
  const Value kept = cast(reshape(position, ordered.shape()) < limit, routing.scores.dtype());
  return transpose(kept);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mixture_of_experts_layer)

BOOST_AUTO_TEST_CASE(values_and_gradients_equal_those_of_pytorch) {
  std::ifstream file(std::string(WEFT_FIXTURES) + "/mixture_of_experts/cases.json");
  const json cases = json::parse(file);
  BOOST_TEST(cases.size() == 11);
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const json& c = cases[number];
    BOOST_TEST_CONTEXT("case " << number) {
      const auto built = build_layer(options_of(c), DType::f64);
      Session session(built->g, {.threads = 1});
      session.initialise();
      const auto variable = [](const std::string& name) {
        if (name == "router") return std::string("moe.router.weight");
        return (name.find('.') != std::string::npos ? "moe." : "moe.experts.") + name;
      };
      if (c.contains("correction")) {
        const auto experts = static_cast<std::int64_t>(c["correction"].size());
        session.set_value("moe.router.correction", doubles(c["correction"], {experts}));
      }
      BOOST_TEST(c["parameters"].size() == built->g.parameters().size());
      for (const auto& [name, values] : c["parameters"].items()) {
        session.set_value(variable(name), doubles(values, session.value(variable(name)).sizes()));
      }
      const Sizes sizes = {c["tokens"], 4};
      const Results results = session.run(
          built->program, {{"x", doubles(c["x"], sizes)}, {"g", doubles(c["g"], sizes)}});
      const auto close = [&](const std::string& name, const json& values) {
        const Tensor& actual = results[name];
        BOOST_CHECK_SMALL(max_difference(actual, doubles(values, actual.sizes())), 1e-12);
      };
      close("y", c["y"]);
      close("dx", c["dx"]);
      close("balancing_loss", json::array({c["balancing_loss"]}));
      close("z_loss", json::array({c["z_loss"]}));
      BOOST_TEST(results["counts"].to_vector<std::int64_t>() ==
                 c["counts"].get<std::vector<std::int64_t>>());
      BOOST_TEST(results["dropped"].item<std::int64_t>() == c["dropped"].get<std::int64_t>());
      for (const auto& [name, values] : c["gradients"].items())
        close("d " + variable(name), values);
    }
  }
}

BOOST_AUTO_TEST_CASE(only_the_chosen_experts_count_as_active) {
  for (const bool symbolic : {true, false}) {
    Graph g;
    const Dim batch = symbolic ? Dim(g.input("ids", DType::i32, {"batch"}).shape()[0]) : Dim(5);
    const Value x = g.input("x", DType::f32, {batch, 3, 4});
    const auto out = mixture_of_experts(Scope(g, "moe"), x,
                                        {.experts = 8,
                                         .experts_per_token = 2,
                                         .inner = 5,
                                         .bias = true,
                                         .weight_layout = LinearLayout::out_in,
                                         .shared_inner = 7});
    Program train("train");
    train.output("y", out.y).update(sgd(sum(square(out.y)), g.parameters(), {.lr = 0.1}));
    const std::int64_t matrices = 3 * 4 * 5, biases = 5 + 5 + 4, shared = 3 * 4 * 7, router = 8 * 4;
    BOOST_TEST(count_parameters(g) == router + shared + 8 * (matrices + biases));
    const std::int64_t active = router + shared + 2 * (matrices + biases);
    BOOST_TEST(count_active_parameters(train, batch * 3) == active);
    const Program predict = Program("predict").output("y", out.y);
    BOOST_TEST(count_active_parameters(predict, batch * 3) == active);
    Session session(g, {.threads = 1});
    session.initialise();
    for (const WeightFormat format : {WeightFormat::bf16, WeightFormat::int4}) {
      const QuantizedModel model = quantize({predict}, *session.store(), {.weights = format});
      BOOST_TEST(count_active_parameters(model.programs[0], batch * 3) == active);
    }
  }
  BOOST_TEST(count_active_parameters(Program("empty"), 1) == 0);
}

BOOST_AUTO_TEST_CASE(invalid_router_and_expert_options_are_rejected) {
  const auto rejects = [](const MixtureOfExpertsOptions& options, const std::string& message) {
    Graph g;
    BOOST_CHECK_EXCEPTION(
        mixture_of_experts(Scope(g, "moe"), g.input("x", DType::f32, {2, 4}), options),
        ArgumentError, message_contains({message, "mixture_of_experts_test.cc"}));
  };
  rejects({.experts = 8, .groups = 3},
          "the number of groups must divide the number of experts (8), but is 3");
  rejects({.experts = 8, .groups = 0}, "but is 0");
  rejects({.experts = 8, .groups = 4, .groups_per_token = 5},
          "groups_per_token must be between 1 and the number of groups (4), but is 5");
  rejects({.experts = 8, .experts_per_token = 3, .groups = 4},
          "experts_per_token is 3, but 1 of 4 groups contain only 2 experts; increase "
          "groups_per_token");
  rejects(
      {.experts = 8, .groups = 8, .groups_per_token = 2, .group_score = RouterGroupScore::best_two},
      "groups of one expert have no two best scores; set group_score to best");
  rejects({.scale = std::nan("")}, "scale and correction_speed must be finite, but are nan and 0");
  rejects({.correction_speed = 0.001},
          "correction_speed moves the correction of the scores; set correction");
  rejects({.limit = -1}, "limit must be positive and finite, or 0, and needs gated experts");
  rejects({.gated = false, .limit = 7}, "needs gated experts, but is 7");
  rejects({.shared_gate = true}, "shared_gate multiplies the shared block; set shared_inner");
}

BOOST_AUTO_TEST_CASE(equals_a_loop_over_experts_with_masks) {
  for (const std::int64_t k : {1, 2, 5}) {
    for (const double factor : {0.0, 0.4, 1.1, 1.25}) {
      const bool capacity = factor > 0;
      Graph g;
      const Value x = g.input("x", DType::f64, {"batch", 6});
      const MixtureOfExperts layer = make_mixture_of_experts(
          Scope(g, "moe"), DType::f64, 6,
          {.experts = 5,
           .experts_per_token = k,
           .inner = 7,
           .gated = k != 2,
           .bias = k == 2,
           .capacity_factor = capacity ? std::optional(factor) : std::nullopt});
      const std::int64_t tokens = 20;
      const auto limit =
          static_cast<std::int64_t>(std::ceil(factor * static_cast<double>(tokens * k) / 5 - 1e-9));
      const Routing routing = layer.router(x);
      const Value kept = capacity ? within_capacity(routing, limit) : ones_like(routing.weights);
      const MixtureOfExpertsOutput out = layer(x);
      const Value y = loop_over_experts(layer, x, kept);
      const Value weights = cos(x * 3.0);
      Program program("p");
      program.output("y", out.y).output("loop", y).output("dropped", out.dropped_choices);
      program.output("wanted", sum(1 - kept));
      std::vector<Value> wrt = {x};
      for (const Variable& v : g.parameters()) wrt.push_back(v);
      const auto dy = gradients(sum(out.y * weights), wrt);
      const auto dloop = gradients(sum(y * weights), wrt);
      for (std::size_t i = 0; i < wrt.size(); ++i) {
        program.output("d" + std::to_string(i), dy[i]);
        program.output("dloop" + std::to_string(i), dloop[i]);
      }
      Session session(g, {.seed = 4, .threads = 1});
      session.initialise();
      const Results r =
          session.run(program, {{"x", sample_uniform({tokens, 6}, 3).to(DType::f64)}});
      BOOST_CHECK_SMALL(max_difference(r["y"], r["loop"]), 1e-13);
      BOOST_TEST(static_cast<double>(r["dropped"].item<std::int64_t>()) ==
                 r["wanted"].item<double>());
      if (factor == 0.4) BOOST_TEST(r["dropped"].item<std::int64_t>() > 0);
      for (std::size_t i = 0; i < wrt.size(); ++i) {
        BOOST_CHECK_SMALL(
            max_difference(r["d" + std::to_string(i)], r["dloop" + std::to_string(i)]), 1e-12);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(unlimited_capacity_gives_the_bits_of_the_dropless_layer) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const MixtureOfExpertsOptions dropless{.experts = 4, .inner = 6, .bias = true};
    MixtureOfExpertsOptions enough = dropless, enormous = dropless;
    enough.capacity_factor = 2;  // experts / k: every expert may receive every token
    enormous.capacity_factor = 1e300;
    std::vector<std::map<std::string, Tensor>> results;
    for (const auto& options : {dropless, enough, enormous}) {
      const auto built = build_layer(options, dtype);
      Session session(built->g, {.seed = 2, .threads = 1});
      session.initialise();
      const Results r = session.run(built->program, {{"x", sample_uniform({50, 4}, 1).to(dtype)},
                                                     {"g", sample_uniform({50, 4}, 2).to(dtype)}});
      auto& all = results.emplace_back();
      for (const auto& [name, value] : built->program.outputs()) all[name] = r[name].clone();
    }
    for (const auto& [name, value] : results[0]) {
      BOOST_TEST(equal_bits(value, results[1][name]), name);
      BOOST_TEST(equal_bits(value, results[2][name]), name);
    }
    BOOST_TEST(results[1]["dropped"].item<std::int64_t>() == 0);
  }
}

BOOST_AUTO_TEST_CASE(capacity_prefers_first_choices_and_earlier_tokens) {
  const auto built = build_layer(
      {.experts = 4, .experts_per_token = 2, .inner = 3, .capacity_factor = 0.5}, DType::f64);
  Session session(built->g, {.seed = 1, .threads = 1});
  session.initialise();
  set_identity_router(session, 4);
  // Capacity ceil(0.5 * 8 / 4) = 1. Token 0 chooses experts 1 and 0, tokens 1 and 2 choose 0 and 1,
  // token 3 chooses 3 and 0. First choices take 1 (token 0), 0 (token 1) and 3 (token 3); token 2
  // loses both choices, and the second choices of tokens 0, 1 and 3 are dropped as well.
  const Tensor x = Tensor::of<double>({4, 4}, {1, 2, 0, 0, 3, 1, 0, 0, 3, 2, 0, 0, 1, 0, 0, 2});
  const Results r = session.run(built->program, {{"x", x}, {"g", x}});
  BOOST_TEST(r["counts"].to_vector<std::int64_t>() == (Ints{4, 3, 0, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(r["dropped"].item<std::int64_t>() == 5);
  for (std::int64_t token = 0; token < 4; ++token) {
    const bool is_zero = r["y"].at(4 * token) == 0 && r["y"].at(4 * token + 1) == 0;
    BOOST_TEST(is_zero == (token == 2), "token " << token);
  }
}

BOOST_AUTO_TEST_CASE(row_capacity_counts_the_tokens_of_each_row) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"batch", "length", 4});
  const MixtureOfExpertsOutput out = mixture_of_experts(
      Scope(g, "moe"), x,
      {.experts = 4, .experts_per_token = 2, .inner = 3, .gated = false, .row_capacity = 1});
  Program program("p");
  program.output("y", out.y).output("kept", out.kept).output("dropped", out.dropped_choices);
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  set_identity_router(session, 4);
  // Choices in the first row: (1, 0), (0, 1), (0, 1); in the second: (3, 0), (2, 3), (1, 0). The
  // first choices of all tokens of a row precede the second ones.
  const Tensor tokens = Tensor::of<double>(
      {2, 3, 4}, {1, 2, 0, 0, 3, 1, 0, 0, 3, 2, 0, 0, 1, 0, 0, 2, 0, 0, 2, 1, 1, 3, 0, 0});
  const Results r = session.run(program, {{"x", tokens}});
  const Tensor kept = r["kept"];
  const std::vector<bool> expected = {true, false, true, false, false, false,
                                      true, true,  true, false, true,  false};
  for (std::size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST((kept.at(static_cast<std::int64_t>(i)) != 0) == expected[i], "choice " << i);
  BOOST_TEST(r["dropped"].item<std::int64_t>() == 6);
  for (std::int64_t j = 0; j < 4; ++j) BOOST_TEST(r["y"].at(2 * 4 + j) == 0);
  // The result for a row does not depend on the other rows, and no choice is dropped if the
  // capacity is the length of the row.
  const RunSetup setup{.feeds = {{"x", tokens}}, .seed = 3};
  const Outcome outcome = check_rows(g, Program("y").output("y", out.y), setup);
  BOOST_TEST(static_cast<bool>(outcome), outcome.message());
  for (const Sizes& empty : {Sizes{0, 3, 4}, Sizes{2, 0, 4}})
    BOOST_TEST(session.run(program, {{"x", Tensor::empty(DType::f64, empty)}})["dropped"]
                   .item<std::int64_t>() == 0);
}

BOOST_AUTO_TEST_CASE(enough_row_capacity_gives_the_bits_of_the_dropless_layer) {
  for (const std::int64_t k : {1, 2}) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"rows", "length", 4});
    const MixtureOfExpertsOptions dropless{.experts = 3, .experts_per_token = k, .inner = 5};
    MixtureOfExpertsOptions enough = dropless;
    enough.row_capacity = 7;
    const Scope net = Scope(g, "moe").evaluation();
    Program program("p");
    program.output("dropless", mixture_of_experts(net, x, dropless).y)
        .output("enough", mixture_of_experts(Scope(g, "moe").evaluation(), x, enough).y);
    Session session(g, {.seed = 2, .threads = 2});
    const Results r = session.run(program, {{"x", sample_uniform({5, 7, 4}, 1).to(DType::f32)}});
    BOOST_TEST(equal_bits(r["dropless"], r["enough"]));
  }
}

BOOST_AUTO_TEST_CASE(jitter_and_dropout_apply_in_training_only) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"tokens", 4});
  MixtureOfExpertsOptions options{.experts = 3, .experts_per_token = 1, .inner = 50};
  const auto y = [&](Mode mode, double jitter, double dropout) {
    options.jitter = jitter;
    options.dropout = dropout;
    return mixture_of_experts(Scope(g, "moe").in(mode), x, options);
  };
  Program program("p");
  program.output("plain", y(Mode::training, 0, 0).y)
      .output("evaluation", y(Mode::evaluation, 0.5, 0.5).y)
      .output("noisy", y(Mode::training, 0.5, 0).routing.logits)
      .output("logits", y(Mode::training, 0, 0.5).routing.logits)
      .output("dropped", y(Mode::training, 0, 0.5).y);
  Session session(g, {.seed = 4, .threads = 1});
  const Results r = session.run(program, {{"x", sample_uniform({6, 4}, 3).to(DType::f64)}});
  BOOST_TEST(equal_bits(r["plain"], r["evaluation"]));
  BOOST_TEST(!equal_bits(r["logits"], r["noisy"]));
  BOOST_TEST(!equal_bits(r["plain"], r["dropped"]));
}

BOOST_AUTO_TEST_CASE(gradients_are_correct_to_second_order) {
  for (const bool gated : {true, false}) {
    for (const auto scores : {RouterScores::softmax, RouterScores::sigmoid}) {
      Graph g;
      const Value x = g.input("x", DType::f64, {5, 3});
      const auto out =
          mixture_of_experts(Scope(g, "moe"), x,
                             {.experts = 4,
                              .experts_per_token = 2,
                              .scores = scores,
                              .inner = 3,
                              .gated = gated,
                              .bias = true,
                              .capacity_factor = gated ? std::optional(0.8) : std::nullopt,
                              .row_capacity = gated ? 0 : 2});
      std::vector<Value> wrt = {x};
      for (const Variable& v : g.parameters()) wrt.push_back(v);
      const Value loss = sum(square(out.y)) + out.balancing_loss + out.z_loss;
      const GradientReport report = check_gradients(
          loss, wrt,
          {.feeds = {{"x", sample_uniform({5, 3}, 7)}}, .max_elements = 12, .second_order = true});
      BOOST_TEST(report, report.message);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_are_independent_without_capacity) {
  for (const bool capacity : {false, true}) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 3, 8});
    const auto out = mixture_of_experts(
        Scope(g, "moe"), x,
        {.experts = 4, .capacity_factor = capacity ? std::optional(0.5) : std::nullopt});
    BOOST_TEST(out.y.type().str() == "f32[batch, 3, 8]");
    const Program program = Program("p").output("y", out.y);
    const RunSetup setup{.feeds = {{"x", sample_uniform({6, 3, 8}, 5)}}, .seed = 3};
    const Outcome outcome = check_rows(g, program, setup);
    BOOST_TEST(static_cast<bool>(outcome) == !capacity, outcome.message());
  }
}

BOOST_AUTO_TEST_CASE(training_does_not_depend_on_threads_memory_or_files) {
  for (const std::int64_t tokens : {7, 200}) {  // matrices are read directly, and packed
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 16});
    const auto out =
        mixture_of_experts(Scope(g, "moe"), x, {.experts = 4, .inner = 24, .capacity_factor = 1});
    const Value loss = mean(square(out.y - x)) + 0.1 * out.balancing_loss + out.z_loss;
    Program train("train");
    train.output("loss", loss).output("y", out.y).update(sgd(loss, g.parameters(), {.lr = 0.1}));
    const RunSetup setup{.feeds = {{"x", sample_uniform({tokens, 16}, 5)}}, .seed = 3};
    const Outcome same = check_determinism(g, train, setup);
    BOOST_TEST(static_cast<bool>(same), same.message());
    const Outcome saved = check_round_trip(g, train, setup);
    BOOST_TEST(static_cast<bool>(saved), saved.message());
  }
}

BOOST_AUTO_TEST_CASE(losses_have_their_documented_values) {
  const auto run = [](const Tensor& x, std::int64_t k) {
    const auto built = build_layer({.experts = 4, .experts_per_token = k, .inner = 2}, DType::f64);
    Session session(built->g, {.seed = 1, .threads = 1});
    session.initialise();
    set_identity_router(session, 4);
    const Results r = session.run(built->program, {{"x", x}, {"g", x}});
    return std::pair{r["balancing_loss"].item<double>(), r["z_loss"].item<double>()};
  };
  // Equal logits: uniform probabilities, although the first experts are always chosen.
  const auto uniform = run(Tensor::zeros(DType::f64, {5, 4}), 2);
  BOOST_TEST(uniform.first == 1, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(uniform.second == std::pow(std::log(4), 2), boost::test_tools::tolerance(1e-12));
  // All tokens choose expert 2 with certainty.
  Tensor same = Tensor::zeros(DType::f64, {3, 4});
  for (int t = 0; t < 3; ++t) same.mutable_data<double>()[4 * t + 2] = 10;
  const auto collapsed = run(same, 1);
  BOOST_TEST(collapsed.first == 4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(collapsed.second == 1e4, boost::test_tools::tolerance(1e-12));
  // No tokens.
  const auto none = run(Tensor::zeros(DType::f64, {0, 4}), 2);
  BOOST_TEST(none.first == 0);
  BOOST_TEST(none.second == 0);
}

BOOST_AUTO_TEST_CASE(equal_scores_choose_the_experts_with_the_smallest_indices) {
  for (const auto scores : {RouterScores::softmax, RouterScores::sigmoid}) {
    const auto built = build_layer(
        {.experts = 4, .experts_per_token = 3, .scores = scores, .inner = 2}, DType::f64);
    Session session(built->g, {.seed = 1, .threads = 1});
    session.initialise();
    session.set_value("moe.router.weight", Tensor::zeros(DType::f64, {4, 4}));
    const Tensor x = sample_uniform({6, 4}, 1).to(DType::f64);
    const Results r = session.run(built->program, {{"x", x}, {"g", x}});
    BOOST_TEST(r["counts"].to_vector<std::int64_t>() == (Ints{6, 6, 6, 0}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(sigmoids_that_underflow_give_finite_results) {
  const auto built =
      build_layer({.experts = 4, .scores = RouterScores::sigmoid, .inner = 2}, DType::f32);
  Session session(built->g, {.seed = 1, .threads = 1});
  session.initialise();
  session.set_value("moe.router.weight", Tensor::full(DType::f32, {4, 4}, -100));
  const Tensor x = Tensor::full(DType::f32, {3, 4}, 1);
  const Results r = session.run(built->program, {{"x", x}, {"g", x}});
  for (const auto& [name, value] : built->program.outputs()) {
    for (std::int64_t i = 0; i < r[name].numel(); ++i) BOOST_TEST(std::isfinite(r[name].at(i)));
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_token_axes_is_accepted) {
  Graph g;
  const Scope net(g, "net");
  const MixtureOfExperts layer = make_mixture_of_experts(net, DType::f32, 4, {.experts = 3});
  const Value x = g.input("x", DType::f32, {"batch", "time", 4});
  const Value one = select(select(x, 0, 0), 0, 1);  // [4]
  const Program program = Program("p").output("all", layer(x).y).output("one", layer(one).y);
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  const Results r = session.run(program, {{"x", sample_uniform({2, 3, 4}, 1)}});
  BOOST_TEST(r["one"].sizes() == Sizes{4});
  for (int i = 0; i < 4; ++i) BOOST_CHECK_SMALL(r["one"].at(i) - r["all"].at(4 + i), 1e-6);
  // Without tokens.
  BOOST_TEST(session.run(program, {{"x", Tensor::zeros(DType::f32, {1, 2, 4})}})["all"].numel() ==
             8);
  const Program alone = Program("q").output("y", layer(x).y);
  BOOST_TEST(session.run(alone, {{"x", Tensor::zeros(DType::f32, {0, 3, 4})}})["y"].numel() == 0);
}

BOOST_AUTO_TEST_CASE(parameters_are_stacked_over_the_experts) {
  Graph g;
  mixture_of_experts(Scope(g, "moe"), g.input("x", DType::f32, {"batch", 4}),
                     {.experts = 3, .inner = 5, .bias = true});
  std::vector<std::string> names;
  for (const Variable& v : g.variables()) {
    names.push_back(v.name() + " " + v.value().type().str());
  }
  const std::vector<std::string> wanted = {
      "moe.router.weight f32[3, 4]",     "moe.experts.gate f32[3, 4, 5]",
      "moe.experts.gate_bias f32[3, 5]", "moe.experts.up f32[3, 4, 5]",
      "moe.experts.up_bias f32[3, 5]",   "moe.experts.down f32[3, 5, 4]",
      "moe.experts.down_bias f32[3, 4]"};
  BOOST_TEST(names == wanted, boost::test_tools::per_element());
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  for (const auto& [name, bound] : {std::pair{"up", 0.5}, {"down", 1 / std::sqrt(5.0)}}) {
    const Tensor weight = session.value(std::string("moe.experts.") + name);
    double largest = 0;
    for (std::int64_t i = 0; i < weight.numel(); ++i) {
      largest = std::max(largest, std::abs(weight.at(i)));
    }
    BOOST_TEST(largest <= bound);
    BOOST_TEST(largest > 0.9 * bound);
  }
}

BOOST_AUTO_TEST_CASE(invalid_options_name_the_callers_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const auto check = [&](const MixtureOfExpertsOptions& options, const std::string& part) {
    const auto call = [&] { mixture_of_experts(Scope(g, "moe"), x, options); };
    const int line = __LINE__ - 1;
    BOOST_CHECK_EXCEPTION(call(), ArgumentError, [&](const Error& e) {
      const std::string text = e.what();
      BOOST_TEST(text.find(part) != std::string::npos, text);
      BOOST_TEST(
          text.find("mixture_of_experts_test.cc:" + std::to_string(line)) != std::string::npos,
          text);
      return true;
    });
  };
  check({.experts = 3, .experts_per_token = 4},
        "experts_per_token must be between 1 and the number of experts (3), but is 4");
  check({.experts = 3, .experts_per_token = 0}, "but is 0");
  check({.experts = 0}, "the number of experts (0), but is 2");
  check({.inner = -1}, "not 8 experts, width 4 and inner -1");
  for (const double factor : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    check({.capacity_factor = factor}, "capacity_factor must be positive and finite, but is");
  }
  check({.row_capacity = -1}, "row_capacity must be positive, or 0 for none");
  check({.capacity_factor = 1, .row_capacity = 1}, "cannot be combined with capacity_factor");
  check({.jitter = 1}, "jitter must be in [0, 1), but is 1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
