// Sharded optimizer state: each rank updates some of the parameters, and the bits match those of
// one rank that updates all of them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/support/messages.h"

namespace weft::testing::owned_state {
namespace {

constexpr int kShards = 8;

// Boost.Test checks are not thread-safe, and the ranks of a ThreadWorld are threads.
std::mutex one_at_a_time;

// A table that spans three and a half blocks of sums, a matrix that spans one and a half, and small
// parameters.
struct Network {
  using Optimizer = std::function<TrainingStep(Value loss, const std::vector<Variable>&)>;

  Graph g;
  Value ids = g.input("ids", DType::i32, {"batch"});
  Value labels = g.input("labels", DType::i32, {"batch"});

  Program train(const Optimizer& optimizer, bool averages = false) {
    const Scope net(g, "net");
    const Value h = embedding(net / "table", ids, {.vocab = 1001, .width = 229});
    const Value logits = linear(net / "out", tanh(linear(net / "in", h, 430)), 3);
    const Value loss = cross_entropy(logits, labels, {.reduction = Reduction::shard_mean});
    const TrainingStep step = optimizer(loss, g.parameters());
    Program program("train");
    program.output("loss", loss).output("norm", step.gradient_norm).update(step.updates);
    if (averages) program.update(Ema(g.parameters(), {.decay = 0.9}).updates(step));
    return program.shards({.count = kShards});
  }
  static NamedTensors batch(int step) {
    const auto seed = static_cast<std::uint64_t>(step);
    return {{"ids", integer_tensor({16}, seed, 0, 1001, DType::i32)},
            {"labels", integer_tensor({16}, seed + 50, 0, 3, DType::i32)}};
  }
};

StepOptions clipped() { return {.clip_norm = 0.5, .skip_nonfinite = true}; }

TrainingStep adamw_step(Value loss, const std::vector<Variable>& parameters) {
  return adamw(loss, parameters, {.lr = 0.01, .step = clipped()});
}

// Returns the results and the complete, gathered state of a rank after some steps.
NamedTensors after_steps(const World& world, const Network::Optimizer& optimizer, bool averages,
                         int threads, GradientSums gradients = GradientSums::whole) {
  Network network;
  const Program train = network.train(optimizer, averages);
  // The buckets are so small that many of them are sent.
  Session session(network.g, {.seed = 3,
                              .threads = threads,
                              .world = world,
                              .bucket_bytes = 1 << 16,
                              .gradients = gradients});
  NamedTensors result;
  for (int step = 0; step < 3; ++step) {
    const Results results = session.run(train, Network::batch(step));
    result.emplace_back("loss", results["loss"].clone());
    result.emplace_back("norm", results["norm"].clone());
    // Gather state between steps: gathered state is partitioned again, and copies are discarded.
    if (step == 0) session.gather_state(Gather::first);
    if (step == 1) session.gather_state();
  }
  session.gather_state();
  for (const Variable& v : train.variables())
    result.emplace_back(v.name(), session.value(v.name()));
  return result;
}

void check_all_worlds(const Network::Optimizer& optimizer, bool averages = false) {
  const NamedTensors expected = after_steps({}, optimizer, averages, 1);
  using enum GradientSums;
  // Not a structured binding, because lambdas cannot capture structured bindings in clang++ 14.
  struct Configuration {
    int ranks;
    GradientSums gradients;
  };
  for (const Configuration& configuration : {Configuration{2, whole},
                                             {3, whole},
                                             {5, whole},
                                             {8, whole},
                                             {2, owned},
                                             {4, owned},
                                             {8, owned}}) {
    BOOST_TEST_CONTEXT(configuration.ranks
                       << " ranks" << (configuration.gradients == owned ? ", owned sums" : "")) {
      ThreadWorld world(configuration.ranks,
                        {.seed = static_cast<std::uint64_t>(configuration.ranks),
                         .max_delay = std::chrono::microseconds(100)});
      std::vector<NamedTensors> found(static_cast<std::size_t>(configuration.ranks));
      world.run([&](const std::shared_ptr<Transport>& end) {
        found[static_cast<std::size_t>(end->rank())] = after_steps(
            World(end), optimizer, averages, 1 + configuration.ranks % 2, configuration.gradients);
      });
      for (const NamedTensors& of_rank : found) check_same(of_rank, expected);
    }
  }
}

OwnedStep owned(const Network::Optimizer& optimizer, int rank, int ranks) {
  Network network;
  return own_step(split_shards(network.train(optimizer)), rank, ranks);
}

BOOST_AUTO_TEST_SUITE(owned_state)

BOOST_AUTO_TEST_CASE(every_optimizer_matches_one_rank_bit_for_bit) {
  check_all_worlds(adamw_step, true);
  check_all_worlds([](Value loss, const std::vector<Variable>& p) {
    return sgd(loss, p, {.lr = 0.1, .momentum = 0.9, .step = clipped()});
  });
  check_all_worlds(
      [](Value loss, const std::vector<Variable>& p) { return lion(loss, p, {.lr = 0.001}); });
  check_all_worlds([](Value loss, const std::vector<Variable>& p) {
    return adagrad(loss, p, {.lr = 0.1, .step = clipped()});
  });
}

BOOST_AUTO_TEST_CASE(an_optimizer_that_reduces_over_matrices_matches_one_rank_bit_for_bit) {
  check_all_worlds([](Value loss, const std::vector<Variable>& p) {
    return adafactor(loss, p, {.lr = 0.01, .beta1 = 0.9, .step = clipped()});
  });
}

BOOST_AUTO_TEST_CASE(adam_is_partitioned_evenly_at_block_boundaries) {
  for (const int ranks : {2, 3, 4}) {
    const OwnedStep step = owned(adamw_step, 0, ranks);
    BOOST_REQUIRE(step.units.size() == 5u);
    // Units that are not split have only a few hundred elements.
    constexpr std::int64_t kTable = 1001 * 229, kMatrix = 229 * 430;
    for (const std::vector<OwnedPiece>& of_rank : step.pieces) {
      std::int64_t elements = 0;
      for (const OwnedPiece& piece : of_rank) {
        if (piece.whole) continue;
        BOOST_TEST(piece.begin % 65536 == 0);
        elements += piece.end - piece.begin;
      }
      BOOST_TEST(elements <= (kTable + kMatrix) / ranks + 65536);
      BOOST_TEST(elements >= (kTable + kMatrix) / ranks - 65536);
    }
    // Every element has exactly one owner.
    for (std::size_t u = 0; u < step.units.size(); ++u) {
      std::int64_t covered = 0;
      for (const auto& of_rank : step.pieces) {
        for (const OwnedPiece& piece : of_rank) {
          if (piece.unit == u) covered += piece.whole ? 1 : piece.end - piece.begin;
        }
      }
      BOOST_TEST(covered == (step.units[u].cut ? step.units[u].elements : 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_matrix_with_a_reducing_update_has_one_owner) {
  const OwnedStep step = owned(
      [](Value loss, const std::vector<Variable>& p) { return adafactor(loss, p, {.lr = 0.01}); },
      1, 2);
  BOOST_TEST(step.units.size() == 5u);
  for (const OwnedStep::Unit& unit : step.units) BOOST_TEST(!unit.cut);
}

BOOST_AUTO_TEST_CASE(each_rank_stores_only_its_part_of_the_state) {
  for (const int ranks : {2, 4}) {
    ThreadWorld world(ranks);
    std::size_t all = 0, most = 0, whole = 0;
    world.run([&](const std::shared_ptr<Transport>& end) {
      Network network;
      const Program train = network.train(adamw_step);
      Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
      session.initialise();
      session.run(train, Network::batch(0));
      const std::lock_guard lock(one_at_a_time);
      std::size_t state = 0;
      for (const Variable& v : train.variables()) {
        if (v.info().kind != VariableKind::optimizer || v.shape().rank() == 0) continue;
        state += static_cast<std::size_t>(v.shape().numel().constant()) * sizeof(float);
        BOOST_TEST(!session.store()->contains(v.name()));
      }
      whole = state;
      all += session.own_bytes();
      most = std::max(most, session.own_bytes());
    });
    BOOST_TEST(all == whole);
    // Each block has 64 Ki elements and two moments per element.
    BOOST_TEST(most <= whole / static_cast<std::size_t>(ranks) + 2 * 65536 * sizeof(float));
  }
}

BOOST_AUTO_TEST_CASE(partitions_form_the_whole_state_and_are_checked_for_nonfinite_values) {
  constexpr int kRanks = 3;
  const std::string name = "optimizer.net.table.weight.m";
  std::vector<Tensor> pieces(kRanks);
  Tensor whole;
  ThreadWorld world(kRanks);
  world.run([&](const std::shared_ptr<Transport>& end) {
    Network network;
    const Program train = network.train(adamw_step);
    Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
    // Before the first step nothing is partitioned, and all state is initialised.
    if (!session.owned_state().partitions().empty() || !session.store()->contains(name))
      throw StateError("state is partitioned too early");
    session.run(train, Network::batch(0));
    const OwnedState& owned = session.owned_state();
    const auto rank = static_cast<std::size_t>(end->rank());
    const auto [begin, last] = owned.partitions().at(name).ranges[rank];
    const Tensor piece = owned.piece(name);
    if (piece.defined() != (begin < last) || owned.piece("net.table.weight").defined() ||
        first_nonfinite(owned, end->rank()))
      throw StateError("a piece is wrong");
    if (piece.defined()) pieces[rank] = piece.clone();
    session.gather_state();
    if (rank == 0) whole = session.value(name);
  });
  std::vector<float> joined;
  for (const Tensor& piece : pieces) {
    if (!piece.defined()) continue;
    const std::vector<float> part = piece.to_vector<float>();
    joined.insert(joined.end(), part.begin(), part.end());
  }
  BOOST_TEST((joined == whole.to_vector<float>()));
}

BOOST_AUTO_TEST_CASE(a_nonfinite_partition_is_reported_with_its_variable_name) {
  std::vector<std::string> found(2);
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    Network network;
    const Program train = network.train(adamw_step);
    Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
    session.initialise();
    session.owned_state();  // initialises all state, which is not partitioned yet
    Tensor moment = session.value("optimizer.net.table.weight.v").clone();
    // This element is in the last row, which the second rank owns.
    moment.mutable_data<float>()[moment.numel() - 2] = std::numeric_limits<float>::infinity();
    session.set_value("optimizer.net.table.weight.v", moment);
    session.run(train, Network::batch(0));
    if (const auto bad = first_nonfinite(session.owned_state(), end->rank()))
      found[static_cast<std::size_t>(end->rank())] = bad->message;
  });
  BOOST_TEST(found[0] == "");
  BOOST_TEST(found[1] ==
             "the optimizer's variable 'optimizer.net.table.weight.v' is inf at [1000, 227]");
}

BOOST_AUTO_TEST_CASE(reading_partitioned_state_is_an_error_that_names_it) {
  ThreadWorld world(2);
  world.run([](const std::shared_ptr<Transport>& end) {
    Network network;
    const Program train = network.train(adamw_step);
    const Program norm = Program("norm").output(
        "norm", global_norm({network.g.find_variable("optimizer.net.table.weight.m").value()}));
    Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
    session.run(train, Network::batch(0));
    const std::string line =
        "variable 'optimizer.net.table.weight.m' is partitioned: each of the 2 ranks holds the "
        "part that it updates; call Session::gather_state() on all ranks to restore the "
        "complete variable";
    {
      const std::lock_guard lock(one_at_a_time);
      check_error<StateError>([&] { session.value("optimizer.net.table.weight.m"); }, {line});
      check_error<StateError>([&] { session.run(norm); }, {line});
    }
    session.gather_state();
    session.run(norm);
    const std::lock_guard lock(one_at_a_time);
    BOOST_TEST(session.store()->contains("optimizer.net.table.weight.m"));
  });
}

BOOST_AUTO_TEST_CASE(a_training_run_can_be_resumed_with_another_number_of_ranks) {
  const NamedTensors expected = after_steps({}, adamw_step, false, 1);
  std::map<std::string, Tensor, std::less<>> saved;
  ThreadWorld first(3);
  first.run([&](const std::shared_ptr<Transport>& end) {
    Network network;
    const Program train = network.train(adamw_step);
    Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
    session.run(train, Network::batch(0));
    session.gather_state(Gather::first);
    if (end->rank() == 0) saved = session.store()->snapshot();
  });
  ThreadWorld second(2);
  second.run([&](const std::shared_ptr<Transport>& end) {
    Network network;
    const Program train = network.train(adamw_step);
    const auto store = std::make_shared<VariableStore>();
    for (const auto& [name, value] : saved)
      store->insert(name, network.g.find_variable(name).info().kind, value);
    Session session(network.g, store, {.seed = 3, .threads = 1, .world = World(end)});
    for (int step = 1; step < 3; ++step) session.run(train, Network::batch(step));
    session.gather_state();
    const std::lock_guard lock(one_at_a_time);
    for (const auto& [name, value] : expected) {
      if (name == "loss" || name == "norm") continue;
      BOOST_TEST_CONTEXT(name) { BOOST_TEST(expect_same_bits(session.value(name), value)); }
    }
  });
}

// The update of one parameter reads the gradient of another parameter.
TrainingStep mixed_step(Value loss, const std::vector<Variable>& parameters) {
  TrainingStep step = sgd(loss, parameters, {.lr = 0.1, .momentum = 0.9});
  Updates updates;
  for (const auto& [variable, value] : step.updates) {
    const bool is_bias = variable.name() == "net.in.bias";
    updates.add(variable, is_bias ? value - 0.1 * sum(step.gradients[1], 1) : value);
  }
  step.updates = updates;
  return step;
}

BOOST_AUTO_TEST_CASE(parameters_connected_by_non_scalars_have_one_owner) {
  const OwnedStep step = owned(mixed_step, 0, 2);
  std::vector<std::string> together;
  for (const OwnedStep::Unit& unit : step.units) {
    if (unit.parameters.size() > 1) together = unit.parameters;
  }
  BOOST_TEST(together == (std::vector<std::string>{"net.in.weight", "net.in.bias"}),
             boost::test_tools::per_element());
  check_all_worlds(mixed_step);
}

BOOST_AUTO_TEST_CASE(reported_outputs_match_the_outputs_of_the_program) {
  for (const int ranks : {1, 2}) {
    ThreadWorld world(ranks);
    world.run([](const std::shared_ptr<Transport>& end) {
      Network network;
      const Program train = network.train(adamw_step);
      Session session(network.g, {.seed = 3, .threads = 1, .world = World(end)});
      std::vector<std::string> reported;
      RunOptions options;
      options.on_output = [&](const std::string& name, const Tensor&) { reported.push_back(name); };
      session.run(train, Network::batch(0), options);
      std::sort(reported.begin(), reported.end());
      options.streamed = {"norm"};
      const Results results = session.run(train, Network::batch(1), options);
      const std::lock_guard lock(one_at_a_time);
      BOOST_TEST(reported.size() == 4u);
      reported.resize(2);
      BOOST_TEST(reported == (std::vector<std::string>{"loss", "norm"}),
                 boost::test_tools::per_element());
      BOOST_TEST(results.contains("loss"));
      BOOST_TEST(!results.contains("norm"));
      options.on_output = {};
      BOOST_CHECK_EXCEPTION(
          session.run(train, Network::batch(2), options), ArgumentError, [](const Error& e) {
            return std::string(e.what()).find("output 'norm' of program 'train' is streamed") == 0;
          });
    });
  }
}

BOOST_AUTO_TEST_CASE(parameters_that_no_shard_reads_are_updated) {
  const auto after_step = [](const World& world) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", 512});
    const Variable w = g.variable("w", DType::f32, {512, 256});
    // The gradient of w depends on x only.
    Program train("train");
    train.shards({.count = 2})
        .update(sgd(shard_mean(mean(matmul(x, w))), {w}, {.lr = 0.1, .momentum = 0.9}));
    Session session(g, {.seed = 1, .threads = 1, .world = world});
    session.run(train, {{"x", Tensor::full(DType::f32, {2, 512}, 1)}});
    return session.store()->tensor("w");
  };
  const Tensor expected = after_step({});
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const Tensor found = after_step(World(end));
    const std::lock_guard lock(one_at_a_time);
    BOOST_TEST(expect_same_bits(found, expected));
  });
}

BOOST_AUTO_TEST_CASE(a_memory_budget_selects_owned_sums_if_the_number_of_ranks_is_a_power_of_two) {
  const auto owned = [](int ranks, GradientSums sums, std::size_t budget) {
    std::atomic<bool> result{false};
    ThreadWorld world(ranks);
    world.run([&](const std::shared_ptr<Transport>& end) {
      const SessionOptions options{.memory_budget = budget, .world = World(end), .gradients = sums};
      if (options.sums_are_owned()) result = true;
    });
    return result.load();
  };
  BOOST_TEST(owned(2, GradientSums::automatic, 1 << 30));
  BOOST_TEST(!owned(2, GradientSums::automatic, 0));
  BOOST_TEST(!owned(3, GradientSums::automatic, 1 << 30));
  BOOST_TEST(owned(4, GradientSums::owned, 0));
  BOOST_TEST(!owned(4, GradientSums::whole, 1 << 30));
}

BOOST_AUTO_TEST_CASE(invalid_bucket_sizes_are_rejected) {
  Graph g;
  for (const std::size_t bytes : {0, 100}) {
    check_error<ArgumentError>([&] { Session(g, {.bucket_bytes = bytes}); },
                               {"bucket_bytes is", "must be a positive multiple of 64"});
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing::owned_state
