// Code blocks in docs/gradients-and-optimizers.md.
#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

namespace {

using namespace weft;

struct SignOptions {
  Schedule lr = 1e-3;
  double beta = 0.9;
  double weight_decay = 0;
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// m = beta * m + (1 - beta) * g; p = p * (1 - lr * decay) - lr * sign(m).
TrainingStep sign_momentum(const Loss& loss, const ParameterGroups& groups,
                           const SignOptions& options = {},
                           SourceLocation loc = SourceLocation::current()) {
  StepBuilder builder("sign_momentum", loss, groups, options, loc);
  for (const StepBuilder::Parameter& parameter : builder.parameters()) {
    const Value g = parameter.gradient, rate = cast(builder.rate(parameter), g.dtype());
    const Variable m = builder.state(parameter, "m");  // "optimizer.<parameter>.m", initially 0
    const Value now = m * options.beta + g * (1 - options.beta);
    builder.update(m, now);
    builder.update(parameter.variable,
                   parameter.decayed(builder.rate(parameter)) - rate * sign(now));
  }
  return builder.finish();
}

struct DerivedNet {
  Graph g;
  Scope net = Scope(g, "net");
  Value x = g.input("x", DType::f32, {"batch", 3});
  Value hidden = tanh(linear(net / "hidden", x, 8));
  Value y = linear(net / "out", hidden, 2);
  Value loss = mean(square(y - 1));
  Tensor batch = normal_tensor({4, 3}, 1);
};

BOOST_FIXTURE_TEST_SUITE(gradients_page, DerivedNet)

BOOST_AUTO_TEST_CASE(gradients_are_values) {
  const Variable weight = g.find_variable("net.out.weight");
  const std::vector<Value> slopes = gradients(loss, {weight.value(), x, hidden});
  const Value penalty = mean(square(norm(slopes[1], {1}) - 1));  // a gradient penalty
  const Value second = gradient(penalty, weight);                // differentiates it again

  const Value along = jvp(y, {x}, {ones_like(x)});            // J t, of y's type
  const std::vector<Value> back = vjp(y, {x}, ones_like(y));  // t^T J
  const Value all = jacobian(y, weight);                      // [batch, 2, 2, 8]
  const std::vector<Value> curved = hessian_vector_product(loss, {weight}, {ones_like(weight)});

  const Program program =
      Program("p").output("second", second).output("along", along).output("all", all);
  const Results results = Session(g, {.seed = 1}).run(program, {{"x", batch}});
  BOOST_TEST(results["second"].type_str() == "f32[2, 8]");
  BOOST_TEST(results["along"].type_str() == "f32[4, 2]");
  BOOST_TEST(results["all"].type_str() == "f32[4, 2, 2, 8]");
  BOOST_TEST(back.size() + curved.size() == 2u);
}

BOOST_AUTO_TEST_CASE(gradients_can_be_checked) {
  const GradientReport report = check_gradients(loss, {x, g.find_variable("net.hidden.weight")},
                                                {.feeds = {{"x", batch}}, .second_order = true});
  if (!report) std::printf("%s\n", report.message.c_str());  // the element and both values
  BOOST_TEST(report);
}

BOOST_AUTO_TEST_CASE(optimizers_support_parameter_groups) {
  const ParameterGroups groups =
      group_parameters(g.parameters(), {{.where = "net.hidden.weight", .learning_rate_scale = 0.1},
                                        {.where = "net.out.weight", .lr = 5e-3},
                                        {.where = "*.bias", .weight_decay = 0}});
  const TrainingStep step =
      adamw(loss, groups,
            {.lr = warmup_cosine(1e-3, 100, 10000), .weight_decay = 0.1, .step = {.clip_norm = 1}});
  const Ema ema(g.parameters(), {.decay = 0.999});
  const Program train = Program("train")
                            .output("norm", step.gradient_norm)
                            .output("rate", step.learning_rate)
                            .update(step)
                            .update(ema.updates(step));
  Session session(g, {.seed = 1});
  session.run(train, {{"x", batch}});
  Session averaged(g, averaged_store(*session.store()));  // the averaged weights, for evaluation
  BOOST_TEST(averaged.value("net.out.weight").rank() == 2);

  const auto narrow = [](const Variable& p) { return p.shape().rank() == 1; };
  const TrainingStep by_size =
      sgd(loss, group_parameters(g.parameters(), {{.where = narrow, .learning_rate_scale = 2}}));
  BOOST_TEST(by_size.gradients.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_batch_can_be_split_into_shards) {
  const Value of_shards = mse(y, ones_like(y), Reduction::shard_mean);
  const Program step = Program("step")
                           .output("loss", of_shards)
                           .shards({.count = 4})
                           .update(adamw(of_shards, g.parameters()));
  Session session(g, {.seed = 1});
  session.run(step, {{"x", batch}});  // 4 rows, one per shard
  BOOST_TEST(session.value("net.out.bias").at(0) != 0.0);
}

BOOST_AUTO_TEST_CASE(schedules_and_optimizers_can_be_customised) {
  const Schedule halving([](Value step) { return 0.01 * pow(0.5, floor(step / 100.0)); });
  const Program train = Program("train")
                            .output("loss", loss)
                            .update(sign_momentum(loss, g.parameters(), {.lr = halving}));
  Session session(g, {.seed = 1});
  const float before = session.run(train, {{"x", batch}})["loss"].item<float>();
  for (int step = 0; step < 50; ++step) session.run(train, {{"x", batch}});
  BOOST_TEST(session.run(train, {{"x", batch}})["loss"].item<float>() < before / 2);
}

BOOST_AUTO_TEST_CASE(large_tables_can_have_sparse_updates) {
  const Value ids = g.input("ids", DType::i32, {"batch"});
  const Value rows = embedding(net / "tok", ids, {.vocab = 1000, .width = 3});
  const Value loss = mean(square(rows - x));
  Program train("train");
  train.update(
      adamw(loss, {g.find_variable("net.tok.weight")}, {.step = {.sparse = {"net.tok.weight"}}}));
  Session session(g, {.seed = 1});
  session.run(train, {{"x", batch}, {"ids", Tensor::of<std::int32_t>({4}, {1, 2, 2, 999})}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
