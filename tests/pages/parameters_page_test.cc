// Code blocks in docs/parameters.md.
#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/temporary_folder.h"

namespace {

using namespace weft;

struct FittedNet {
  Graph g;
  Scope net = Scope(g, "net");
  Value input = g.input("x", DType::f32, {"batch", 3}),
        wanted = g.input("y", DType::f32, {"batch"});
  Value hidden = tanh(linear(net / "hidden", input, 8));
  Value loss = mse(squeeze(linear(net / "out", hidden, 1), {1}), wanted);
  Tensor x = normal_tensor({20, 3}, 1), y = normal_tensor({20}, 2);
  Session session = Session(g, {.seed = 1});
};

BOOST_FIXTURE_TEST_SUITE(parameters_page, FittedNet)

BOOST_AUTO_TEST_CASE(a_loss_is_minimised) {
  const LbfgsResult result = minimize(session, loss, net.parameters(), {{"x", x}, {"y", y}},
                                      {.max_iterations = 200, .gradient_tolerance = 1e-6});
  std::printf("%s\n", result.str().c_str());  // why it ended, iterations, evaluations, loss
  BOOST_TEST(result.loss < 0.1);
}

BOOST_AUTO_TEST_CASE(the_caller_drives_the_loop) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("lbfgs.safetensors");
  Lbfgs lbfgs(session, loss, net.parameters(), {{"x", x}, {"y", y}});
  while (lbfgs.step() && lbfgs.result().loss > 1e-3) {
    std::printf("%.6f\n", lbfgs.result().loss);
  }
  write_safetensors(path, lbfgs.state());
  lbfgs.load_state(read_safetensors(path).tensors);
  BOOST_TEST(lbfgs.result().iterations > 0);
}

BOOST_AUTO_TEST_CASE(parameters_form_one_vector) {
  const std::vector<Variable> all = net.parameters();
  const Value slope = flatten_parameters(gradients(loss, all));  // f32 [n]
  const Value direction = g.input("direction", DType::f32, {"n"});
  const Value curvature = flatten_parameters(
      hessian_vector_product(loss, {all.begin(), all.end()}, unflatten_parameters(direction, all)));
  const Results results =
      session.run(Program("p").output("slope", slope).output("curvature", curvature),
                  {{"x", x}, {"y", y}, {"direction", Tensor::zeros(DType::f32, {41})}});
  BOOST_TEST(results["slope"].numel() == 41);
  BOOST_TEST(results["curvature"].numel() == 41);

  Tensor vector = flat_parameters(session, all).clone();
  vector.mutable_data<float>()[0] += 0.5f;
  set_flat_parameters(session, all, vector);
  BOOST_TEST(bitwise_equal(flat_parameters(session, all), vector));
}

BOOST_AUTO_TEST_CASE(models_are_copied) {
  Graph two, three;
  const Scope policy(two, "policy"), reference(two, "reference");
  for (const Scope& scope : {policy, reference, Scope(three, "policy")})
    linear(scope,
           scope.graph().find_input("x").defined()
               ? scope.graph().find_input("x")
               : scope.graph().input("x", DType::f32, {"batch", 3}),
           2);
  Session session(two, {.seed = 1}), other(three, {.seed = 2});
  copy_parameters(session, policy, reference);                              // within one graph
  copy_parameters(session, policy, other, Scope(other.graph(), "policy"));  // to another Session
  BOOST_TEST(bitwise_equal(session.value("reference.weight"), other.value("policy.weight")));
}

BOOST_AUTO_TEST_CASE(models_are_averaged) {
  const testing::TemporaryFolder folder;
  const std::string first = folder.path("first.weft"), second = folder.path("second.weft");
  const Program train = Program("train").update(adam(loss, net.parameters()));
  for (const std::string& path : {first, second}) {
    session.run(train, {{"x", x}, {"y", y}});
    save_checkpoint(path, session, {train});
  }
  const auto mean = average_parameters(
      {weights_in(*load_checkpoint(first).store()), weights_in(*load_checkpoint(second).store())});
  copy_parameters(mean, session, Scope(g));
  BOOST_TEST(bitwise_equal(session.value("net.out.weight"), mean.at("net.out.weight")));
}

BOOST_AUTO_TEST_CASE(a_target_follows_the_online_network) {
  const Scope online = net, target(g, "target");
  linear(target / "out", tanh(linear(target / "hidden", input, 8)), 1);
  const TrainingStep step = adam(loss, online.parameters(), {.lr = 1e-3});
  const Program train = Program("train")
                            .output("loss", loss)
                            .update(step)
                            .update(polyak_updates(target, online, step, {.tau = 0.01}));
  copy_parameters(session, online, target);  // the models start with equal weights
  session.run(train, {{"x", x}, {"y", y}});
  copy_parameters(session, online, target, {.tau = 0.01});
  BOOST_TEST(!bitwise_equal(session.value("target.out.weight"), session.value("net.out.weight")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
