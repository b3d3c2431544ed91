// The router of a mixture of experts: the balancing loss of several layers, and the correction that
// balances the experts during training.
#include "weft/models/layers/experts/router.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using nlohmann::json;

Tensor f64_tensor(const json& values, const Sizes& sizes) {
  return Tensor::of<double>(sizes, values.get<std::vector<double>>());
}

/// Returns the weight of a router that returns its 4 inputs as logits.
Tensor identity() {
  Tensor result = Tensor::zeros(DType::f64, {4, 4});
  for (std::int64_t i = 0; i < 4; ++i) result.mutable_data<double>()[5 * i] = 1;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(router)

BOOST_AUTO_TEST_CASE(the_joint_balancing_loss_equals_the_one_of_pytorch) {
  std::ifstream file(std::string(WEFT_FIXTURES) + "/mixture_of_experts/joint.json");
  for (const json& c : json::parse(file)) {
    BOOST_TEST_CONTEXT("k " << c["k"]) {
      const auto tokens = static_cast<std::int64_t>(c["mask"].size());
      const Tensor mask = f64_tensor(c["mask"], {tokens});
      Graph g;
      const Value weights = g.input("mask", DType::f64, {tokens});
      std::vector<Value> x;
      std::vector<Routing> layers;
      NamedTensors feeds = {{"mask", mask}};
      for (const char* name : {"a", "b"}) {
        x.push_back(g.input(name, DType::f64, {tokens, 4}));
        layers.push_back(make_router(Scope(g, name), DType::f64, 4,
                                     {.experts = 4, .experts_per_token = c["k"]})(x.back()));
        feeds.emplace_back(name, f64_tensor(c["logits"][layers.size() - 1], {tokens, 4}));
      }
      const Value loss = joint_balancing_loss(layers, weights);
      const std::vector<Value> d = gradients(loss, x);
      const auto unmasked = [&](std::vector<Routing> r) {
        return joint_balancing_loss(r) / c["k"].get<double>();
      };
      Program p("p");
      p.output("loss", loss).output("da", d[0]).output("db", d[1]);
      p.output("masked", joint_balancing_loss(layers, weights * 0.0));
      p.output("one", unmasked({layers[0]})).output("own", layers[0].balancing_loss());
      p.output("twice", unmasked({layers[0], layers[0]}));
      Session session(g, {.threads = 1});
      session.initialise();
      for (const char* name : {"a.weight", "b.weight"}) session.set_value(name, identity());
      const Results r = session.run(p, feeds);
      BOOST_CHECK_SMALL(r["loss"].item<double>() - c["loss"].get<double>(), 1e-12);
      for (const int i : {0, 1}) {
        BOOST_CHECK_SMALL(
            max_difference(r[i == 0 ? "da" : "db"], f64_tensor(c["gradients"][i], {tokens, 4})),
            1e-12);
      }
      BOOST_TEST(r["masked"].item<double>() == 0);
      BOOST_CHECK_SMALL(r["one"].item<double>() - r["own"].item<double>(), 1e-13);
      BOOST_CHECK_SMALL(r["twice"].item<double>() - r["own"].item<double>(), 1e-13);
    }
  }
}

BOOST_AUTO_TEST_CASE(training_moves_the_correction_towards_equal_loads) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 4});
  const Scope net(g, "net");
  const RouterOptions options{.experts = 4,
                              .experts_per_token = 1,
                              .scores = RouterScores::sigmoid,
                              .normalize_weights = false,
                              .correction = true,
                              .correction_speed = 0.25};
  const Routing training = make_router(net.training(), DType::f32, 4, options)(x);
  const Routing evaluation = make_router(net.evaluation(), DType::f32, 4, options)(x);
  const Program train =
      Program("train").output("counts", training.counts).output("weights", training.weights);
  const Program test =
      Program("test").output("counts", evaluation.counts).output("weights", evaluation.weights);
  Session session(g, {.seed = 1, .threads = 1});
  session.initialise();
  BOOST_TEST(g.parameters().size() == 1U);  // the correction is a buffer
  session.set_value("net.weight", identity().to(DType::f32));
  // Two tokens choose expert 0, one each expert 1 and 2: the mean is 1.
  const NamedTensors feeds = {{"x", Tensor::of<float>({4, 4}, {2, 0, 0, 0, 2, 0, 0, 0,  //
                                                               0, 2, 0, 0, 0, 0, 2, 0})}};
  const auto correction = [&] { return session.value("net.correction").to_vector<float>(); };
  session.run(test, feeds);
  BOOST_TEST(correction() == (std::vector<float>{0, 0, 0, 0}), boost::test_tools::per_element());
  const Results first = session.run(train, feeds);
  BOOST_TEST(correction() == (std::vector<float>{-0.25, 0, 0, 0.25}),
             boost::test_tools::per_element());
  // sigmoid(2) - 0.25 < sigmoid(0) + 0.25: expert 3 is chosen instead. Its weight is sigmoid(0),
  // without the correction.
  const Results second = session.run(test, feeds);
  BOOST_TEST(second["counts"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{0, 1, 1, 2}),
             boost::test_tools::per_element());
  BOOST_CHECK_SMALL(first["weights"].at(0) - 1 / (1 + std::exp(-2.0)), 1e-7);
  BOOST_TEST(second["weights"].at(0) == 0.5);
  for (int step = 0; step < 20; ++step) session.run(train, feeds);
  const auto counts = session.run(test, feeds)["counts"].to_vector<std::int64_t>();
  BOOST_TEST(*std::max_element(counts.begin(), counts.end()) <= 2);
}

BOOST_AUTO_TEST_CASE(balancing_losses_over_no_or_different_layers_are_rejected) {
  BOOST_CHECK_EXCEPTION(joint_balancing_loss({}), ArgumentError,
                        message_contains({"needs the routing of at least one layer"}));
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 4});
  const auto route = [&](const char* name, std::int64_t experts, std::int64_t k) {
    return make_router(Scope(g, name), DType::f32, 4,
                       {.experts = experts, .experts_per_token = k})(x);
  };
  BOOST_CHECK_EXCEPTION(
      joint_balancing_loss({route("a", 4, 2), route("b", 8, 2)}), ArgumentError,
      message_contains({"must have equal numbers of experts, but 2 of 4 and 2 of 8"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
