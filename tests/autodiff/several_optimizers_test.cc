// Several optimizers, losses and groups in one graph; gradient options; a custom optimizer and a
// custom schedule.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizer_state.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

// A custom optimizer, written as described in step_builder.h.
struct MyLionOptions {
  Schedule lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  Decay decay = Decay::matrices;
  StepOptions step = {};
};
TrainingStep my_lion(const Loss& loss, const ParameterGroups& groups, const MyLionOptions& o = {},
                     SourceLocation loc = SourceLocation::current()) {
  StepBuilder b("my_lion", loss, groups, o, loc);
  for (const StepBuilder::Parameter& p : b.parameters()) {
    const Value rate = b.rate(p);
    const Variable m = b.state(p, "m");
    const Value direction = sign(o.beta1 * m.value() + (1 - o.beta1) * p.gradient);
    b.update(m, o.beta2 * m.value() + (1 - o.beta2) * p.gradient);
    b.update(p.variable, p.decayed(rate) - cast(rate, direction.dtype()) * direction);
  }
  return b.finish();
}

// Returns the output of a layer with a matrix and a bias.
Value layer(const Scope& at, Value x, int in, int out) {
  const Variable w =
      at.variable("weight", DType::f32, {in, out}, {.initializer = Initializer::normal(0.5)});
  return matmul(x, w) + at.variable("bias", DType::f32, {out});
}

// A GAN whose generator learns to produce points with the distribution of the data.
struct Gan {
  Graph g;
  Scope generator = Scope(g, "generator"), discriminator = Scope(g, "discriminator");
  Value noise = g.input("noise", DType::f32, {"n", 3}),
        real = g.input("real", DType::f32, {"n", 2});
  Value fake = layer(generator / 1, tanh(layer(generator / 0, noise, 3, 8)), 8, 2);
  Value on_fake = discriminate(fake), on_real = discriminate(real);
  Value d_loss = mean(softplus(on_fake)) + mean(softplus(-on_real));
  Value g_loss = mean(softplus(-on_fake));

  Value discriminate(Value x) {
    const Scope at = discriminator.training();
    return layer(at / 1, tanh(layer(at / 0, x, 2, 8)), 8, 1);
  }
  static NamedTensors feeds(int step) {
    const auto seed = static_cast<std::uint64_t>(step);
    return {{"noise", sample_uniform({16, 3}, 2 * seed)},
            {"real", sample_uniform({16, 2}, 2 * seed + 1, 1, 2)}};
  }
};

std::vector<Tensor> values(Session& session, const std::vector<Variable>& variables) {
  std::vector<Tensor> result;
  for (const Variable& v : variables) result.push_back(session.value(v.name()));
  return result;
}

void check_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) BOOST_TEST(bitwise_equal(a[i], b[i]));
}

BOOST_AUTO_TEST_SUITE(several_optimizers)

BOOST_AUTO_TEST_CASE(two_optimizers_in_one_graph_have_distinct_names) {
  Gan gan;
  Program train_d("discriminator"), train_g("generator");
  train_d.output("loss", gan.d_loss)
      .update(adam(gan.d_loss, gan.discriminator.parameters(), {.lr = 0.01}));
  train_g.output("loss", gan.g_loss)
      .update(adam(gan.g_loss, gan.generator.parameters(), {.lr = 0.02}));
  for (const char* name : {"optimizer.step", "optimizer.discriminator.0.weight.m",
                           "optimizer.2.step", "optimizer.2.generator.1.bias.v"}) {
    BOOST_TEST(gan.g.has_variable(name), name);
  }
  BOOST_TEST(unused_scope(gan.g, "", "optimizer", "step") == "optimizer.3");
  BOOST_TEST(unused_scope(gan.g, "mine", "optimizer", "step") == "mine");
  Session session(gan.g, {.seed = 5});
  const std::vector<Tensor> before = values(session, gan.generator.parameters());
  for (int step = 0; step < 4; ++step) session.run(train_d, Gan::feeds(step));
  check_same_bits(values(session, gan.generator.parameters()), before);
  session.run(train_g, Gan::feeds(9));
  BOOST_TEST(session.value("optimizer.step").item<std::int64_t>() == 4);
  BOOST_TEST(session.value("optimizer.2.step").item<std::int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(training_in_one_graph_equals_training_in_two_graphs) {
  const auto trained = [](bool together) {
    Gan a, b;
    Gan& other = together ? a : b;
    Program train_d("d"), train_g("g");
    train_d.update(adamw(a.d_loss, a.discriminator.parameters(), {.lr = 0.01}));
    // The variables of both graphs are in one store, so they need distinct names.
    train_g.update(lion(other.g_loss, other.generator.parameters(),
                        {.lr = 0.02, .step = {.scope = "optimizer.2"}}));
    const auto store = std::make_shared<VariableStore>();
    // Only one Session at a time may update a store.
    for (int step = 0; step < 6; ++step) {
      Session(a.g, store, {.seed = 5}).run(train_d, Gan::feeds(step));
      Session(other.g, store, {.seed = 5}).run(train_g, Gan::feeds(100 + step));
    }
    Session last(other.g, store);
    return values(last, other.g.parameters());
  };
  check_same_bits(trained(true), trained(false));
}

BOOST_AUTO_TEST_CASE(one_program_may_contain_updates_of_two_optimizers) {
  Gan gan;
  Program both("both");
  both.update(adam(gan.d_loss, gan.discriminator.parameters()))
      .update(adam(gan.g_loss, gan.generator.parameters()));
  Session session(gan.g, {.seed = 5});
  session.run(both, Gan::feeds(0));
  BOOST_TEST(session.value("optimizer.2.step").item<std::int64_t>() == 1);
}

BOOST_AUTO_TEST_CASE(training_with_two_optimizers_can_be_resumed_bit_for_bit) {
  const TemporaryFolder folder;
  const auto trained = [&](bool stopped) {
    Gan gan;
    Program train_d("discriminator"), train_g("generator");
    train_d.update(adam(gan.d_loss, gan.discriminator.parameters(), {.lr = 0.01}));
    train_g.update(adam(gan.g_loss, gan.generator.parameters(), {.lr = warmup_cosine(0.02, 3, 8)}));
    const auto steps = [](Session& session, const Program& d, const Program& g, int first) {
      for (int step = first; step < first + 3; ++step) {
        session.run(d, Gan::feeds(2 * step));
        session.run(g, Gan::feeds(2 * step + 1));
      }
    };
    Session session(gan.g, {.seed = 5});
    steps(session, train_d, train_g, 0);
    if (!stopped) {
      steps(session, train_d, train_g, 3);
      return values(session, gan.g.variables());
    }
    save_checkpoint(folder / "gan.weft", session, {train_d, train_g});
    const Checkpoint file = load_checkpoint(folder / "gan.weft");
    BOOST_TEST(file.store()->contains("optimizer.2.generator.0.weight.m"));
    Session loaded(file.graph(), file.store());
    steps(loaded, file.program("discriminator"), file.program("generator"), 3);
    return values(loaded, gan.g.variables());
  };
  check_same_bits(trained(true), trained(false));
}

BOOST_AUTO_TEST_CASE(averages_have_distinct_names) {
  Gan gan;
  const Ema d(gan.discriminator.parameters()), g(gan.generator.parameters());
  BOOST_TEST(d.scope() == "ema");
  BOOST_TEST(g.scope() == "ema.2");
  BOOST_TEST(g.averages()[0].name() == "ema.2.generator.0.weight.average");
}

BOOST_AUTO_TEST_CASE(averaged_weights_can_be_used_for_inference) {
  Gan gan;
  const std::vector<Variable> all = gan.generator.parameters();
  const TrainingStep step = sgd(gan.g_loss, all, {.lr = 0.1});
  Program train("train"), sample("sample");
  train.update(step).update(Ema(all, {.decay = 0.5}).updates(step));
  sample.output("points", gan.fake);
  Session session(gan.g, {.seed = 5});
  Tensor mean = session.value("generator.1.weight");
  for (int i = 0; i < 3; ++i) {
    session.run(train, Gan::feeds(i));
    const Tensor now = session.value("generator.1.weight");
    float* m = mean.mutable_data<float>();
    for (std::int64_t k = 0; k < mean.numel(); ++k) m[k] += (now.data<float>()[k] - m[k]) * 0.5f;
  }
  Session averaged(gan.g, averaged_store(*session.store()));
  BOOST_TEST(bitwise_equal(averaged.value("generator.1.weight"), mean));
  BOOST_TEST(!bitwise_equal(averaged.run(sample, {Gan::feeds(0)[0]})["points"],
                            session.run(sample, {Gan::feeds(0)[0]})["points"]));
}

BOOST_AUTO_TEST_CASE(one_call_may_define_groups_by_name_and_by_predicate) {
  const auto after = [](auto&& groups_of) {
    Gan gan;
    Program train("train");
    train.update(adamw(gan.g_loss, groups_of(gan), {.lr = 0.05, .weight_decay = 0.2}));
    Session session(gan.g, {.seed = 5});
    for (int step = 0; step < 3; ++step) session.run(train, Gan::feeds(step));
    return values(session, gan.generator.parameters());
  };
  check_same_bits(after([](const Gan& gan) {
                    return group_parameters(
                        gan.generator.parameters(),
                        {{.where = "*.0.weight", .learning_rate_scale = 0.1},
                         {.where = [](const Variable& p) { return p.shape().rank() == 1; },
                          .weight_decay = 0}});
                  }),
                  after([](const Gan& gan) {
                    const std::vector<Variable> p = gan.generator.parameters();
                    return ParameterGroups{{.parameters = {p[0]}, .learning_rate_scale = 0.1},
                                           {.parameters = {p[1], p[3]}, .weight_decay = 0},
                                           {.parameters = {p[2]}}};
                  }));
}

BOOST_AUTO_TEST_CASE(groups_may_have_their_own_rates_and_schedules) {
  const Schedule rises([](Value step) { return 0.01 * (step + 1.0); });
  const Schedule falls = linear_schedule(0.05, 0, 5);
  // Returns the parameters after training with groups of the first and the second layer.
  const auto after = [](auto&& train) {
    Gan gan;
    const std::vector<Variable> p = gan.generator.parameters();
    Program program("train");
    train(gan, program, std::vector<Variable>{p[0], p[1]}, std::vector<Variable>{p[2], p[3]});
    Session session(gan.g, {.seed = 5});
    for (int step = 0; step < 4; ++step) session.run(program, Gan::feeds(step));
    return values(session, p);
  };
  const auto check = [&](const auto& optimizer, auto options) {
    const auto with = [&](const Schedule& lr) {
      auto changed = options;
      changed.lr = lr;
      return changed;
    };
    const auto loc = SourceLocation::current();
    const auto separate = after([&](Gan& gan, Program& program, const auto& a, const auto& b) {
      program.update(optimizer(gan.g_loss, a, with(rises), loc))
          .update(optimizer(gan.g_loss, b, with(falls), loc));
    });
    check_same_bits(
        separate, after([&](Gan& gan, Program& program, const auto& a, const auto& b) {
          const ParameterGroups groups = {{.parameters = a}, {.parameters = b, .lr = falls}};
          program.update(optimizer(gan.g_loss, groups, with(rises), loc));
        }));
    check_same_bits(separate, after([&](Gan& gan, Program& program, const auto&, const auto&) {
                      const ParameterGroups groups = group_parameters(
                          gan.generator.parameters(),
                          {{.where = "generator.0.*", .lr = rises}, {.where = "*", .lr = falls}});
                      program.update(optimizer(gan.g_loss, groups, with(0.0), loc));
                    }));
  };
  check(sgd, SgdOptions{.momentum = 0.9});
  check(adam, AdamOptions{});
  check(adamw, AdamWOptions{.weight_decay = 0.1});
  check(adagrad, AdagradOptions{});
  check(adafactor, AdafactorOptions{});
  check(lion, LionOptions{.weight_decay = 0.1});
}

BOOST_AUTO_TEST_CASE(the_scale_of_a_group_also_multiplies_its_own_rate) {
  Graph g;
  const Variable a = g.variable("a", DType::f64, {}), b = g.variable("b", DType::f64, {});
  const TrainingStep step =
      sgd(a + b, {{.parameters = {a}, .learning_rate_scale = 0.5, .lr = 0.5}, {.parameters = {b}}},
          {.lr = 2});
  Session session(g);
  const Results results =
      session.run(Program("train").output("rate", step.learning_rate).update(step));
  BOOST_TEST(results["rate"].item<double>() == 2);
  BOOST_TEST(session.value("a").item<double>() == -0.25);
  BOOST_TEST(session.value("b").item<double>() == -2);
}

BOOST_AUTO_TEST_CASE(errors_name_undefined_and_malformed_schedules) {
  Gan gan;
  const std::vector<Variable> all = gan.generator.parameters();
  const std::size_t nodes = gan.g.node_count();
  BOOST_CHECK_EXCEPTION(
      adamw(gan.g_loss, all, {.lr = {}}), ArgumentError,
      message_contains({"adamw: the learning rate is undefined: set it to a number",
                        "several_optimizers_test.cc"}));
  const Schedule narrow([](Value step) { return cast(step, DType::f32); });
  BOOST_CHECK_EXCEPTION(
      adamw(gan.g_loss, all, {.lr = narrow}), DTypeError,
      message_contains({"the learning rate is f32[], but the function of a schedule "
                        "must return an f64 scalar"}));
  const Schedule wide([](Value step) { return unsqueeze(step, 0); });
  const ParameterGroups groups = {{.parameters = {all[0]}}, {.parameters = {all[1]}, .lr = wide}};
  BOOST_CHECK_EXCEPTION(
      sgd(gan.g_loss, groups), ShapeError,
      message_contains({"sgd: the learning rate of parameter group 1 is f64[1]"}));
  BOOST_CHECK_THROW(sgd(gan.g_loss, {{.parameters = all, .lr = -1}}), ArgumentError);
  const Schedule nothing([](Value) { return Value(); });
  BOOST_CHECK_THROW(sgd(gan.g_loss, all, {.lr = nothing}), GraphError);
  BOOST_TEST(gan.g.node_count() == nodes);
}

BOOST_AUTO_TEST_CASE(errors_name_group_rules_without_a_match) {
  Gan gan;
  const std::vector<Variable> all = gan.generator.parameters();
  BOOST_CHECK_EXCEPTION(group_parameters(all, {{.where = "*.bias"}, {.where = "*.gain"}}),
                        ArgumentError,
                        message_contains({"group_parameters: rule 1, '*.gain', matches none of the "
                                          "4 parameters, the first of which is "
                                          "'generator.0.weight'"}));
  BOOST_CHECK_EXCEPTION(
      group_parameters(all, {{.where = "*"}, {.where = [](const Variable&) { return true; }}}),
      ArgumentError,
      message_contains({"group_parameters: rule 1, a predicate, matches only parameters that an "
                        "earlier rule matches: move it before that rule"}));
  BOOST_CHECK_EXCEPTION(group_parameters({Variable()}, {}), ArgumentError,
                        message_contains({"group_parameters: a parameter is undefined"}));
}

BOOST_AUTO_TEST_CASE(every_optimizer_supports_custom_rules_and_unreachable_parameters) {
  auto ops = std::make_shared<OpSet>(*builtin_ops());
  OpRecord negative = builtin_ops()->at("neg");
  negative.name = "home_made";
  ops->add(negative);
  RuleSet rules = builtin_rules();
  rules.add("home_made",
            [](const GradientContext& c) { return std::vector<Value>{-c.cotangent() * 3.0}; });
  const StepOptions step{.gradients = {.unreachable = Unreachable::zeros, .rules = &rules}};
  Graph g(ops);
  const Variable w = g.variable("w", DType::f32, {2}, {.initializer = Initializer::ones()});
  const Variable unused =
      g.variable("unused", DType::f32, {2}, {.initializer = Initializer::ones()});
  const Value loss = sum(g.apply("home_made", {w.value()}).output(0));
  const std::vector<Variable> p = {w, unused};
  const std::vector<TrainingStep> steps = {
      sgd(loss, p, {.lr = 0.5, .step = step}), adam(loss, p, {.step = step}),
      adamw(loss, p, {.step = step}),          adagrad(loss, p, {.step = step}),
      adafactor(loss, p, {.step = step}),      lion(loss, p, {.step = step}),
      my_lion(loss, p, {.step = step})};
  Session session(g);
  session.run(Program("sgd").update(steps[0]));
  BOOST_TEST(session.value("w").at(0) == 2.5);
  BOOST_TEST(session.value("unused").at(0) == 1);
  for (const TrainingStep& s : steps) {
    BOOST_TEST(session.run(Program("p").output("g", s.gradients[0]))["g"].at(0) == -3);
    BOOST_TEST(session.run(Program("q").output("g", s.gradients[1]))["g"].at(0) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_custom_lion_optimizer_equals_the_built_in_one) {
  const auto after = [](auto&& optimizer) {
    Gan gan;
    Program train("train");
    train.update(optimizer(gan));
    Session session(gan.g, {.seed = 5});
    for (int step = 0; step < 5; ++step) session.run(train, Gan::feeds(step));
    return values(session, gan.generator.parameters());
  };
  const Schedule rises([](Value step) { return 1e-2 * minimum((step + 1.0) / 3.0, 1.0); });
  check_same_bits(
      after([&](Gan& gan) {
        return lion(gan.g_loss, gan.generator.parameters(), {.lr = rises, .weight_decay = 0.3});
      }),
      after([&](Gan& gan) {
        return my_lion(gan.g_loss, gan.generator.parameters(), {.lr = rises, .weight_decay = 0.3});
      }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
