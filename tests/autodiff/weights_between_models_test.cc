// Copies, averages and Polyak averages of the weights of models.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <memory>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::message_contains;
using Weights = std::map<std::string, Tensor, std::less<>>;
namespace tt = boost::test_tools;

// A model with parameters and with buffers.
Value network(const Scope& at, Value x) {
  const Value h = tanh(linear(at / "in", x, 4));
  return linear(at / "out", batch_norm(at / "bn", h), 2);
}

struct TwoModels {
  explicit TwoModels(std::uint64_t seed = 1) : session(g, {.seed = seed, .threads = 1}) {}
  Graph g;
  Scope online = Scope(g, "online"), target = Scope(g, "target");
  Value x = g.input("x", DType::f32, {"batch", 3});
  Value output = network(online.training(), x);
  Value wanted = network(target.evaluation(), x);
  Value loss = mse(output, stop_gradient(wanted) + 1.0);
  Session session;
  NamedTensors feeds(std::uint64_t step) const { return {{"x", normal_tensor({5, 3}, step)}}; }
};

const char* const kNames[] = {"in.weight", "in.bias", "out.weight",      "out.bias",
                              "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"};

bool is_buffer(const std::string& name) { return name.find("running") != std::string::npos; }

BOOST_AUTO_TEST_SUITE(weights_between_models)

BOOST_AUTO_TEST_CASE(a_copied_model_computes_the_same_results) {
  TwoModels m;
  const Program both = Program("both")
                           .output("online", network(m.online.evaluation(), m.x))
                           .output("target", m.wanted);
  Results before = m.session.run(both, m.feeds(1));
  BOOST_TEST(!bitwise_equal(before["online"], before["target"]));
  copy_parameters(m.session, m.online, m.target);
  const Results after = m.session.run(both, m.feeds(1));
  BOOST_TEST(bitwise_equal(after["online"], before["online"]));
  BOOST_TEST(bitwise_equal(after["online"], after["target"]));
  // The copies are independent of each other.
  m.session.run(Program("train").update(sgd(m.loss, m.online.parameters())), m.feeds(2));
  BOOST_TEST(
      !bitwise_equal(m.session.value("online.in.weight"), m.session.value("target.in.weight")));
}

BOOST_AUTO_TEST_CASE(a_frozen_target_is_copied_and_updated_but_not_trained) {
  TwoModels m;
  for (const Variable& p : m.target.parameters()) m.g.set_trainable(p, false);
  BOOST_TEST(m.target.parameters().empty());
  const TrainingStep step = adamw(m.loss, m.g.parameters(), {.lr = 0.1});
  copy_parameters(m.session, m.online, m.target);
  const Tensor before = m.session.value("online.in.weight");
  m.session.run(Program("train").update(step), m.feeds(1));
  BOOST_TEST(bitwise_equal(m.session.value("target.in.weight"), before));
  BOOST_TEST(!bitwise_equal(m.session.value("online.in.weight"), before));
  m.session.run(
      Program("train").update(step).update(polyak_updates(m.target, m.online, step, {.tau = 1})),
      m.feeds(2));
  BOOST_TEST(
      bitwise_equal(m.session.value("target.in.weight"), m.session.value("online.in.weight")));
}

BOOST_AUTO_TEST_CASE(copies_in_new_sessions_keep_other_variables_initialisable) {
  TwoModels m;
  // Neither model has values yet, and a third one starts from its initialisers.
  const Value critic = linear(Scope(m.g, "critic"), m.x, 1);
  copy_parameters(m.session, m.online, m.target);
  BOOST_CHECK_NO_THROW(m.session.run(Program("p").output("critic", critic), m.feeds(1)));
}

BOOST_AUTO_TEST_CASE(models_are_copied_between_sessions_and_stores) {
  TwoModels a(1), b(2);
  a.session.run(Program("train").update(adamw(a.loss, a.online.parameters())), a.feeds(1));
  copy_parameters(a.session, a.online, b.session, b.target);
  for (const std::string name : kNames) {
    BOOST_TEST(bitwise_equal(b.session.value("target." + name), a.session.value("online." + name)),
               name);
  }
  // The whole graph, without optimizer state.
  copy_parameters(a.session, Scope(a.g), b.session, Scope(b.g));
  BOOST_TEST(bitwise_equal(b.session.value("online.in.bias"), a.session.value("online.in.bias")));
  BOOST_TEST(!b.session.store()->contains("optimizer.step"));
  const Weights weights = weights_in(*a.session.store(), "online");
  BOOST_TEST(weights.size() == 8u);
  BOOST_TEST(weights_in(*a.session.store()).size() == 16u);
  BOOST_TEST(weights_in(a.session, a.online).size() == 8u);
  TwoModels c(3);
  copy_parameters(weights, c.session, c.target);
  BOOST_TEST(bitwise_equal(c.session.value("target.bn.running_mean"),
                           a.session.value("online.bn.running_mean")));
}

BOOST_AUTO_TEST_CASE(a_copy_with_tau_moves_parameters_and_copies_buffers) {
  TwoModels m;
  m.session.run(Program("train").update(sgd(m.loss, m.online.parameters())), m.feeds(1));
  const Weights online = weights_in(m.session, m.online), old = weights_in(m.session, m.target);
  copy_parameters(m.session, m.online, m.target, {.tau = 0.25});
  for (const std::string name : kNames) {
    const Tensor now = m.session.value("target." + name);
    if (is_buffer(name)) {
      BOOST_TEST(bitwise_equal(now, online.at(name)), name);
      continue;
    }
    for (std::int64_t i = 0; i < now.numel(); ++i) {
      const double from = old.at(name).at(i);
      BOOST_TEST(now.at(i) == static_cast<float>(from + 0.25 * (online.at(name).at(i) - from)));
    }
  }
  const Weights before = weights_in(m.session, m.target);
  copy_parameters(m.session, m.online, m.target, {.tau = 0, .buffers = false});
  for (const auto& [name, value] : weights_in(m.session, m.target))
    BOOST_TEST(bitwise_equal(value, before.at(name)), name);
}

BOOST_AUTO_TEST_CASE(without_buffers_only_parameters_are_copied) {
  TwoModels m;
  m.session.run(Program("train").update(sgd(m.loss, m.online.parameters())), m.feeds(1));
  const Tensor mean = m.session.value("target.bn.running_mean");
  copy_parameters(m.session, m.online, m.target, {.buffers = false});
  BOOST_TEST(bitwise_equal(m.session.value("target.bn.running_mean"), mean));
  BOOST_TEST(
      bitwise_equal(m.session.value("target.in.weight"), m.session.value("online.in.weight")));
  Weights weights = weights_in(m.session, m.online);
  weights.erase("bn.running_var");
  BOOST_CHECK_NO_THROW(copy_parameters(weights, m.session, m.target, {.buffers = false}));
}

BOOST_AUTO_TEST_CASE(errors_list_every_difference_and_nothing_is_written) {
  Graph g;
  const Scope a(g, "a"), b(g, "b");
  a.variable("same", DType::f32, {2}, {.initializer = Initializer::ones()});
  b.variable("same", DType::f32, {2});
  a.variable("head.weight", DType::f32, {2});
  b.variable("haed.weight", DType::f32, {2});
  a.variable("shape", DType::f32, {2, 3});
  b.variable("shape", DType::f32, {3, 2});
  a.variable("dtype", DType::f32, {});
  b.variable("dtype", DType::f64, {});
  Session session(g);
  BOOST_CHECK_EXCEPTION(
      copy_parameters(session, a, b), ArgumentError,
      message_contains(
          {"copy_parameters: the weights of scope 'a' do not match those of scope 'b':",
           "missing: 'haed.weight' f32[2] (did you mean 'head.weight'?)",
           "another type: 'shape' is f32[2, 3], but must be f32[3, 2]",
           "another type: 'dtype' is f32[], but must be f64[]", "unexpected: 'head.weight' f32[2]",
           "weights_between_models_test.cc"}));
  BOOST_TEST(session.value("b.same").at(0) == 0);
  BOOST_CHECK_EXCEPTION(
      copy_parameters({{"same", Tensor::zeros(DType::f32, {2})}, {"more", Tensor()}}, session, b),
      ArgumentError, message_contains({"the tensor 'more' is undefined"}));
  BOOST_CHECK_EXCEPTION(
      copy_parameters({{"same", Tensor::zeros(DType::f32, {3})}}, session, b), ArgumentError,
      message_contains({"the weights of the tensors do not match",
                        "another type: 'same' is f32[3], but must be f32[2]", "missing: 'shape'"}));
  BOOST_CHECK_EXCEPTION(copy_parameters(session, Scope(g, "none"), b), ArgumentError,
                        message_contains({"scope 'none' has no parameters or buffers", "a.same",
                                          "build the model before this call"}));
  BOOST_CHECK_EXCEPTION(copy_parameters(session, a, a, {.tau = 1.5}), ArgumentError,
                        message_contains({"copy_parameters: tau must be in [0, 1], but is 1.5"}));
  BOOST_CHECK_THROW(copy_parameters(session, a, a, {.tau = std::nan("")}), ArgumentError);
  Graph other;
  BOOST_CHECK_EXCEPTION(copy_parameters(session, Scope(other, "a"), a), GraphError,
                        message_contains({"scope 'a' belongs to another graph than its Session"}));
  BOOST_CHECK_EXCEPTION(weights_in(*session.store(), "none"), ArgumentError,
                        message_contains({"no parameters or buffers in scope 'none'"}));
}

BOOST_AUTO_TEST_CASE(averages_of_models_match_their_definition) {
  const auto model = [](double a, double b, std::int64_t count) -> Weights {
    return {{"w", Tensor::of<double>({2}, {a, b}).to(DType::f32)},
            {"count", Tensor::of<std::int64_t>({}, {count})},
            {"none", Tensor::zeros(DType::f32, {0, 2})}};
  };
  const std::vector<Weights> models = {model(1, 10, 1), model(2, 20, 2), model(6, 60, 3)};
  const Weights mean = average_parameters(models);
  BOOST_TEST(mean.at("w").to_vector<float>() == (std::vector<float>{3, 30}), tt::per_element());
  BOOST_TEST(mean.at("count").item<std::int64_t>() == 3);
  BOOST_TEST(mean.at("none").type_str() == "f32[0, 2]");
  const Weights shares = average_parameters(models, {3, 1, 0});
  BOOST_TEST(shares.at("w").to_vector<float>() == (std::vector<float>{1.25f, 12.5f}),
             tt::per_element());
  BOOST_TEST(shares.at("count").item<std::int64_t>() == 2);
  BOOST_TEST(bitwise_equal(average_parameters({models[2]}).at("w"), models[2].at("w")));
}

BOOST_AUTO_TEST_CASE(the_average_of_equal_models_is_bit_identical_to_them) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    Tensor w = normal_tensor({1001}, 5).to(dtype);
    const double infinity = std::numeric_limits<double>::infinity();
    Tensor special = Tensor::of<double>({3}, {infinity, -infinity, -0.0}).to(dtype);
    const Weights one = {{"w", w}, {"special", special}};
    const Weights mean = average_parameters({one, one, one, one, one, one, one}, {});
    BOOST_TEST(bitwise_equal(mean.at("w"), w));
    BOOST_TEST(bitwise_equal(mean.at("special"), special));
  }
}

BOOST_AUTO_TEST_CASE(the_last_checkpoints_of_a_training_run_are_averaged) {
  const testing::TemporaryFolder folder;
  TwoModels m;
  const Program train = Program("train").update(adamw(m.loss, m.online.parameters(), {.lr = 0.1}));
  std::vector<Weights> models;
  std::vector<Tensor> last;
  for (std::uint64_t step = 0; step < 3; ++step) {
    m.session.run(train, m.feeds(step));
    save_checkpoint(folder / "step.weft", m.session, {train});
    models.push_back(weights_in(*load_checkpoint(folder / "step.weft").store()));
    last.push_back(m.session.value("online.in.weight"));
  }
  TwoModels fresh(7);
  copy_parameters(average_parameters(models), fresh.session, Scope(fresh.g));
  const Tensor mean = fresh.session.value("online.in.weight");
  for (std::int64_t i = 0; i < mean.numel(); ++i)
    BOOST_TEST(std::abs(mean.at(i) - (last[0].at(i) + last[1].at(i) + last[2].at(i)) / 3) < 1e-7);
}

BOOST_AUTO_TEST_CASE(averages_reject_models_that_differ_and_wrong_shares) {
  const Weights one = {{"w", Tensor::zeros(DType::f32, {2})}};
  const Weights other = {{"w", Tensor::zeros(DType::f64, {2})},
                         {"b", Tensor::zeros(DType::f32, {})}};
  BOOST_CHECK_EXCEPTION(
      average_parameters({one, one, other}), ArgumentError,
      message_contains({"average_parameters: the weights of model 2 do not match those of model 0",
                        "'w' is f64[2], but must be f32[2]", "unexpected: 'b' f32[]"}));
  BOOST_CHECK_EXCEPTION(average_parameters({}), ArgumentError,
                        message_contains({"average_parameters: the list of models is empty"}));
  BOOST_CHECK_EXCEPTION(average_parameters({one}, {1, 2}), ArgumentError,
                        message_contains({"there are 2 weights for 1 models"}));
  BOOST_CHECK_EXCEPTION(
      average_parameters({one, one}, {0, 0}), ArgumentError,
      message_contains({"average_parameters: the sum of the weights must be positive"}));
  BOOST_CHECK_EXCEPTION(average_parameters({one, one}, {2, -1}), ArgumentError,
                        message_contains({"average_parameters: weight 1 must be finite and at "
                                          "least 0, but is -1"}));
  BOOST_CHECK_THROW(average_parameters({one}, {std::nan("")}), ArgumentError);
}

BOOST_AUTO_TEST_CASE(polyak_updates_follow_the_new_weights_of_the_step) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Graph g;
    const Scope online(g, "online"), target(g, "target");
    const Variable w = online.variable("w", dtype, {3}, {.initializer = Initializer::ones()});
    target.variable("w", dtype, {3});
    const TrainingStep step = sgd(sum(square(w)), online.parameters(), {.lr = 0.1});
    const Program train =
        Program("train").update(step).update(polyak_updates(target, online, step, {.tau = 0.3}));
    Session session(g, {.threads = 1});
    double p = 1, t = 0;
    for (int i = 0; i < 20; ++i) {
      session.run(train);
      p -= 0.1 * 2 * p;
      t += 0.3 * (p - t);
    }
    BOOST_TEST(session.value("target.w").at(2) == t,
               tt::tolerance(dtype == DType::f64 ? 1e-13 : 1e-5));
    BOOST_TEST(session.value("online.w").at(2) == p,
               tt::tolerance(dtype == DType::f64 ? 1e-13 : 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(a_hard_update_copies_the_weights_every_n_steps) {
  TwoModels m;
  const TrainingStep step = adam(m.loss, m.online.parameters(), {.lr = 0.01});
  const Program train = Program("train").update(step).update(
      polyak_updates(m.target, m.online, step, {.tau = 1, .every = 3}));
  copy_parameters(m.session, m.online, m.target);
  Weights before = weights_in(m.session, m.target);
  for (int i = 1; i <= 7; ++i) {
    m.session.run(train, m.feeds(static_cast<std::uint64_t>(i)));
    const Weights now = weights_in(m.session, m.target), online = weights_in(m.session, m.online);
    for (const std::string name : kNames) {
      const Weights& wanted = i % 3 == 0 ? online : before;
      BOOST_TEST(bitwise_equal(now.at(name), wanted.at(name)), name << " in step " << i);
    }
    before = now;
  }
}

BOOST_AUTO_TEST_CASE(polyak_updates_copy_the_buffers_of_the_same_step) {
  TwoModels m;
  const TrainingStep step = sgd(m.loss, m.online.parameters(), {.lr = 0.1});
  const Program train =
      Program("train").update(step).update(polyak_updates(m.target, m.online, step));
  for (std::uint64_t i = 0; i < 3; ++i) m.session.run(train, m.feeds(i));
  BOOST_TEST(bitwise_equal(m.session.value("target.bn.running_var"),
                           m.session.value("online.bn.running_var")));
  BOOST_TEST(m.session.value("online.bn.running_var").at(0) != 1);
}

BOOST_AUTO_TEST_CASE(a_skipped_step_does_not_change_the_target) {
  Graph g;
  const Scope online(g, "online"), target(g, "target");
  const Variable w = online.variable("w", DType::f32, {2}, {.initializer = Initializer::ones()});
  target.variable("w", DType::f32, {2});
  const Value scale = g.input("scale", DType::f32, {});
  const TrainingStep step =
      sgd(sum(w * scale), online.parameters(), {.lr = 0.5, .step = {.skip_nonfinite = true}});
  const Program train = Program("train").update(step).update(
      polyak_updates(target, online, step, {.tau = 1, .every = 2}));
  Session session(g, {.threads = 1});
  const auto run = [&](double value) {
    session.run(train, {{"scale", Tensor::scalar(DType::f32, value)}});
    return session.value("target.w").at(0);
  };
  BOOST_TEST(run(1) == 0);
  BOOST_TEST(run(std::numeric_limits<double>::infinity()) == 0);  // would have been the second
  BOOST_TEST(run(1) == 0.0);                                      // copies 1 - 2 * 0.5
  BOOST_TEST(session.value("online.w").at(0) == 0.0);
  run(1);
  BOOST_TEST(run(std::nan("")) == 0.0);
  run(1);
  BOOST_TEST(session.value("target.w").at(0) == -1.0);
}

BOOST_AUTO_TEST_CASE(a_target_that_equals_its_source_stays_equal) {
  TwoModels m;
  const TrainingStep step = sgd(m.loss, m.online.parameters(), {.lr = 0});
  const Program train =
      Program("train").update(step).update(polyak_updates(m.target, m.online, step, {.tau = 0.37}));
  copy_parameters(m.session, m.online, m.target);
  const Tensor before = m.session.value("target.in.weight");
  for (std::uint64_t i = 0; i < 3; ++i) m.session.run(train, m.feeds(i));
  BOOST_TEST(bitwise_equal(m.session.value("target.in.weight"), before));
}

BOOST_AUTO_TEST_CASE(a_program_with_polyak_updates_is_resumed_bit_for_bit) {
  const testing::TemporaryFolder folder;
  TwoModels m;
  const TrainingStep step = adamw(m.loss, m.online.parameters(), {.lr = 0.01});
  const Program train = Program("train").update(step).update(
      polyak_updates(m.target, m.online, step, {.tau = 0.1, .every = 2}));
  for (std::uint64_t i = 0; i < 3; ++i) m.session.run(train, m.feeds(i));
  save_checkpoint(folder / "train.weft", m.session, {train});
  const Checkpoint file = load_checkpoint(folder / "train.weft");
  Session resumed(file.graph(), file.store(), {.threads = 2});
  for (std::uint64_t i = 3; i < 6; ++i) {
    m.session.run(train, m.feeds(i));
    resumed.run(file.program("train"), m.feeds(i));
  }
  for (const std::string name : kNames) {
    BOOST_TEST(bitwise_equal(resumed.value("target." + name), m.session.value("target." + name)),
               name);
  }
}

BOOST_AUTO_TEST_CASE(targets_of_sharded_programs_do_not_depend_on_the_number_of_ranks) {
  for (const std::int64_t every : {1, 2}) {
    const auto trained = [every](const World& world) -> NamedTensors {
      Graph g;
      const Scope online(g, "online"), target(g, "target");
      const Value x = g.input("x", DType::f32, {"batch", 3});
      const auto model = [&](const Scope& at) {
        return linear(at / "out", tanh(linear(at / "in", x, 33)), 2);
      };
      const Value loss =
          mse(model(online), stop_gradient(model(target)) + 1.0, Reduction::shard_mean);
      const TrainingStep step = adamw(loss, online.parameters(), {.lr = 0.01});
      const Program train =
          Program("train")
              .shards({.count = 4})
              .update(step)
              .update(polyak_updates(target, online, step, {.tau = 0.3, .every = every}));
      Session session(g, {.seed = 3, .threads = 1, .world = world});
      copy_parameters(session, online, target);
      for (std::uint64_t i = 0; i < 5; ++i) session.run(train, {{"x", normal_tensor({8, 3}, i)}});
      return {{"in", session.value("target.in.weight")}, {"out", session.value("target.out.bias")}};
    };
    const NamedTensors wanted = trained({});
    for (const int ranks : {2, 4}) {
      for (const NamedTensors& found : testing::on_ranks(ranks, trained)) {
        for (std::size_t i = 0; i < wanted.size(); ++i)
          BOOST_TEST(bitwise_equal(found[i].second, wanted[i].second), wanted[i].first);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(polyak_updates_reject_wrong_scopes_and_options) {
  TwoModels m;
  const TrainingStep step = sgd(m.loss, m.online.parameters());
  const std::size_t nodes = m.g.node_count();
  const auto rejects = [&](const Scope& target, const Scope& source, const PolyakOptions& options,
                           std::vector<std::string> parts) {
    BOOST_CHECK_EXCEPTION(polyak_updates(target, source, step, options), ArgumentError,
                          message_contains(std::move(parts)));
  };
  for (const double tau : {-0.1, 1.1, std::nan("")})
    rejects(m.target, m.online, {.tau = tau}, {"polyak_updates: tau must be in [0, 1]"});
  for (const std::int64_t every : {0, -2})
    rejects(m.target, m.online, {.every = every}, {"polyak_updates: every must be positive"});
  rejects(m.target / "in", m.online, {},
          {"polyak_updates: the weights of scope 'online' do not match those of scope 'target.in'",
           "missing: 'weight' f32[4, 3]", "unexpected: 'in.weight' f32[4, 3]"});
  rejects(Scope(m.g, "none"), m.online, {}, {"scope 'none' has no parameters or buffers"});
  rejects(
      m.online, m.target, {},
      {"polyak_updates: the step itself updates 'online.", "only the parameters of the source"});
  Graph other;
  BOOST_CHECK_EXCEPTION(polyak_updates(m.target, Scope(other, "online"), step), GraphError,
                        message_contains({"belong to different graphs"}));
  BOOST_CHECK_THROW(polyak_updates(Scope(other), Scope(other), step), GraphError);
  BOOST_TEST(m.g.node_count() == nodes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
