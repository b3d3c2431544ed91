// Shards that are computed by several ranks give the same bits as on a single rank.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <functional>
#include <mutex>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/distributed/agree.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/channel_norm.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/linear.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

constexpr int kShards = 8;

// A network with dropout and batch normalisation. Rows can be excluded from the loss.
struct Network {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 6});
  Value labels = g.input("labels", DType::i32, {"batch"});

  Program train(int shards = kShards) {
    const Scope net = Scope(g, "net").training();
    Value h = batch_norm(net / "norm", linear(net / "in", x, 33));
    h = dropout(net, tanh(h), 0.2);
    const Value logits = linear(net / "out", h, 4);
    const Value total = cross_entropy(logits, labels, {.reduction = Reduction::sum});
    const Value loss = shard_mean(total, sum(cast(not_equal(labels, -100), DType::i64)));
    const TrainingStep step = adamw(loss, g.parameters(), {.lr = 0.05, .step = {.clip_norm = 0.5}});
    return Program("train")
        .output("loss", loss)
        .output("norm", step.gradient_norm)
        .update(step.updates)
        .shards({.count = shards});
  }
  static NamedTensors batch(int step) {
    const auto seed = static_cast<std::uint64_t>(step);
    const Tensor labels = integer_tensor({32}, seed, -1, 4, DType::i32);
    std::vector<std::int32_t> given = labels.to_vector<std::int32_t>();
    for (std::int32_t& label : given) label = label < 0 ? -100 : label;
    return {{"x", normal_tensor({32, 6}, seed + 100)},
            {"labels", Tensor::of<std::int32_t>({32}, given)}};
  }
};

// Returns the results and the state of a rank after three steps.
NamedTensors after_steps(const World& world, SessionOptions options) {
  Network network;
  const Program train = network.train();
  options.seed = 11;
  options.world = world;
  Session session(network.g, options);
  NamedTensors result;
  for (int step = 0; step < 3; ++step) {
    const Results results = session.run(train, Network::batch(step));
    result.emplace_back("loss", results["loss"].clone());
    result.emplace_back("norm", results["norm"].clone());
  }
  session.gather_state();
  for (const Variable& v : train.variables()) {
    result.emplace_back(v.name(), session.value(v.name()));
  }
  return result;
}

// Returns the error message that all ranks must report: the first error on the lowest-numbered rank
// that failed on its own.
std::string line_of(ThreadWorld& world, const std::function<void(const World&)>& body) {
  try {
    world.run([&](const std::shared_ptr<Transport>& end) { body(World(end)); });
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

BOOST_AUTO_TEST_SUITE(worlds)

BOOST_AUTO_TEST_CASE(any_number_of_ranks_matches_one_rank_bit_for_bit) {
  const NamedTensors expected = after_steps({}, {.threads = 1});
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    for (const int threads : {1, 2}) {
      BOOST_TEST_CONTEXT(ranks << " ranks with " << threads << " threads") {
        ThreadWorld world(ranks, {.seed = static_cast<std::uint64_t>(10 * ranks + threads),
                                  .max_delay = std::chrono::microseconds(100)});
        std::vector<NamedTensors> found(static_cast<std::size_t>(ranks));
        world.run([&](const std::shared_ptr<Transport>& end) {
          found[static_cast<std::size_t>(end->rank())] =
              after_steps(World(end), {.threads = threads});
        });
        for (const NamedTensors& of_rank : found) check_same(of_rank, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_with_interleaved_shards_match_one_rank_bit_for_bit) {
  const NamedTensors expected = after_steps({}, {.threads = 1});
  for (const auto& [ranks, per_host] : {std::pair(1, 1), {2, 1}, {4, 1}, {8, 1}, {4, 2}, {8, 3}}) {
    for (const bool overlap : {true, false}) {
      BOOST_TEST_CONTEXT(ranks << " ranks, " << per_host << " on a host, overlap " << overlap) {
        const auto on_rank = [&](const World& world) {
          return after_steps(world, {.threads = 1,
                                     .overlap = overlap,
                                     .bucket_bytes = 64,
                                     .gradients = GradientSums::owned});
        };
        for (const NamedTensors& of_rank : on_ranks(ranks, on_rank, per_host))
          check_same(of_rank, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_are_owned_if_there_is_a_memory_budget) {
  const auto shards = [](int ranks, std::size_t budget, GradientSums gradients) {
    std::string text;
    ThreadWorld world(ranks);
    world.run([&](const std::shared_ptr<Transport>& end) {
      Network network;
      Session session(network.g, {.seed = 1,
                                  .threads = 1,
                                  .memory_budget = budget,
                                  .world = World(end),
                                  .gradients = gradients});
      const ShardRun run = session.shards_of_rank(network.train());
      if (end->rank() != 1) return;
      for (int i = 0; i < run.size(); ++i) text += fmt::format(" {}", run.shard(i));
    });
    return text;
  };
  using enum GradientSums;
  BOOST_TEST(shards(2, 0, automatic) == " 4 5 6 7");
  BOOST_TEST(shards(2, 1 << 20, automatic) == " 1 3 5 7");
  BOOST_TEST(shards(2, 1 << 20, whole) == " 4 5 6 7");
  BOOST_TEST(shards(4, 0, owned) == " 1 5");
  BOOST_TEST(shards(3, 1 << 20, automatic) == " 2 3 4");
  check_error<ArgumentError>([&] { shards(3, 0, owned); },
                             {"GradientSums::owned requires a power-of-two number of ranks, not 3; "
                              "GradientSums::whole works with any number"});
}

BOOST_AUTO_TEST_CASE(ranks_that_share_hosts_match_one_rank_bit_for_bit) {
  const NamedTensors expected = after_steps({}, {.threads = 1});
  for (const auto& [ranks, per_host] : {std::pair(2, 2), {3, 2}, {4, 2}, {6, 3}, {7, 3}, {8, 4}}) {
    BOOST_TEST_CONTEXT(ranks << " ranks, " << per_host << " on a host") {
      const auto on_rank = [](const World& world) { return after_steps(world, {.threads = 1}); };
      for (const NamedTensors& of_rank : on_ranks(ranks, on_rank, per_host))
        check_same(of_rank, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_error_on_one_rank_aborts_all_ranks) {
  ThreadWorld world(4);
  std::mutex mutex;
  std::vector<std::string> lines;
  const std::string line = line_of(world, [&](const World& rank) {
    Network network;
    const Program train = network.train();
    Session session(network.g, {.seed = 1, .threads = 1, .world = rank});
    NamedTensors batch = Network::batch(0);
    batch[1].second.mutable_data<std::int32_t>()[21] = 9;  // shard 5, which rank 2 computes
    try {
      session.run(train, batch);
    } catch (const WorldError& e) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(e.what());
      throw;
    }
  });
  BOOST_TEST(line.starts_with("shard 5 of 8: "), line);
  BOOST_TEST(lines.size() == 3u);
  for (const std::string& other : lines) {
    BOOST_TEST(other.starts_with("rank 2 (host thread-2): shard 5 of 8: "), other);
  }
}

BOOST_AUTO_TEST_CASE(differences_between_ranks_are_reported_before_the_first_step) {
  const auto line = [](const std::function<void(const World&)>& body) {
    ThreadWorld world(2);
    return line_of(world, body);
  };
  const auto run = [](const World& rank, int shards, std::uint64_t seed, double more) {
    Network network;
    Program train = network.train(shards);
    train.output("more", network.g.scalar(DType::f64, more));
    Session session(network.g, {.seed = seed, .threads = 1, .world = rank});
    session.run(train, Network::batch(0));
  };
  BOOST_TEST(line([&](const World& w) { run(w, 8, w.first() ? 1 : 2, 0); }) ==
             "ranks differ in the seed: rank 0 (host thread-0) has 1, rank 1 (host thread-1) has "
             "2");
  BOOST_TEST(line([&](const World& w) {
               Network network;
               const std::size_t budget = w.first() ? 0 : 1 << 20;
               Session session(network.g, {.threads = 1, .memory_budget = budget, .world = w});
               session.run(network.train(), Network::batch(0));
             }) ==
             "ranks differ in the placement of gradient sums (SessionOptions::gradients and "
             "memory_budget): rank 0 (host thread-0) has whole, rank 1 (host thread-1) has owned");
  BOOST_TEST(line([&](const World& w) { run(w, w.first() ? 8 : 4, 1, 0); }) ==
             "ranks differ in the number of shards: rank 0 (host thread-0) has 8, rank 1 (host "
             "thread-1) has 4");
  BOOST_TEST(line([&](const World& w) { run(w, 8, 1, w.rank()); })
                 .starts_with("ranks differ in the program (its name, and a hash of its text): "
                              "rank 0 (host thread-0) has 'train' "));
  // The rank with a single shard could run the program on its own, or fail because there are fewer
  // shards than ranks. Instead, the difference must be reported.
  for (const int shards : {1, 8}) {
    BOOST_TEST(line([&](const World& w) { run(w, w.first() ? shards : 9 - shards, 1, 0); }) ==
               fmt::format("ranks differ in the number of shards: rank 0 (host thread-0) has {}, "
                           "rank 1 (host thread-1) has {}",
                           shards, 9 - shards));
  }
  BOOST_TEST(line([&](const World& w) { run(w, w.first() ? 8 : 1, w.first() ? 1 : 2, 0); }) ==
             "ranks differ in the seed: rank 0 (host thread-0) has 1, rank 1 (host thread-1) has "
             "2; in the number of shards: rank 0 (host thread-0) has 8, rank 1 (host thread-1) "
             "has 1");
}

// Ranks on different machines could differ in this way.
BOOST_AUTO_TEST_CASE(differences_in_builds_and_cpus_are_reported) {
  Network network;
  const Program train = network.train();
  for (const std::string name :
       {"the protocol of Weft", "the version of Weft", "the build of the executable (its build id)",
        "the instruction set of their kernels"}) {
    ThreadWorld world(2);
    const std::string line = line_of(world, [&](const World& rank) {
      Handshake handshake = handshake_of(train, {.seed = 1});
      for (Handshake::Field& field : handshake.fields) {
        if (field.name == name && !rank.first()) field.text = "another";
      }
      agree(rank, handshake);
    });
    BOOST_TEST(line.starts_with("ranks differ in " + name + ": rank 0 (host thread-0) has "), line);
    BOOST_TEST(line.ends_with(", rank 1 (host thread-1) has another"), line);
  }
}

BOOST_AUTO_TEST_CASE(errors_name_a_lost_rank_with_its_step_and_shard) {
  for (const std::string step : {"", "step 12"}) {
    ThreadWorld world(2);
    const std::string line = line_of(world, [&](const World& rank) {
      Network network;
      const Program train = network.train();
      Session session(network.g, {.seed = 1, .threads = 1, .world = rank});
      RunOptions options;
      options.part_of = step;
      session.run_shards(
          train,
          [&](int shard) {
            if (shard == 5) world.kill(1);
            return NamedTensors{{"x", normal_tensor({4, 6}, 1)},
                                {"labels", integer_tensor({4}, 1, 0, 4, DType::i32)}};
          },
          options);
    });
    const std::string phase = step.empty() ? "shard 5 of 8" : "step 12: shard 5 of 8";
    BOOST_TEST(line.starts_with("rank 1 (host thread-1) is lost; it was in " + phase + ", which"),
               line);
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_feed_different_scalars_are_reported) {
  ThreadWorld world(2);
  const std::string line = line_of(world, [](const World& rank) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch"}), rate = g.input("rate", DType::f32, {});
    const Program program = Program("p").output("y", shard_sum(sum(x)) * rate).shards({.count = 2});
    Session session(g, {.threads = 1, .world = rank});
    const auto feeds = [](double rate_now) {
      return NamedTensors{{"x", Tensor::full(DType::f32, {2}, 1)},
                          {"rate", Tensor::scalar(DType::f32, rate_now)}};
    };
    if (session.run(program, feeds(0.1))["y"].at(0) != 0.2f) throw StateError("another sum");
    session.run(program, feeds(rank.first() ? 0.1 : 0.3));
  });
  BOOST_TEST(line.find("ranks differ in the inputs of the step: rank 0 (host thread-0) has rate = "
                       "0.1, rank 1 (host thread-1) has rate = 0.3") != std::string::npos,
             line);
}

BOOST_AUTO_TEST_CASE(errors_name_programs_that_several_ranks_cannot_run) {
  ThreadWorld few(2);
  const std::string line = line_of(few, [](const World& rank) {
    Network network;
    Session session(network.g, {.seed = 1, .threads = 1, .world = rank});
    session.run(network.train(1), Network::batch(0));
  });
  BOOST_TEST(line.find("', but has no shards to distribute among 2 ranks") != std::string::npos,
             line);
  BOOST_TEST(line.find("; see Program::shards()") != std::string::npos, line);
  ThreadWorld many(3);
  BOOST_TEST(line_of(many, [](const World& rank) {
               Network network;
               Session session(network.g, {.seed = 1, .threads = 1, .world = rank});
               session.run(network.train(2), Network::batch(0));
             }) == "3 ranks are too many for 2 shards: start no more ranks than there are shards");
}

BOOST_AUTO_TEST_CASE(read_only_programs_run_on_every_rank) {
  ThreadWorld world(2);
  world.run([](const std::shared_ptr<Transport>& end) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"n"});
    const Variable w = g.variable("w", DType::f32, {});
    Session session(g, {.seed = 1, .threads = 1, .world = World(end)});
    const Program read = Program("read").output("y", sum(x * w));
    if (end->rank() == 1) session.run(read, {{"x", Tensor::zeros(DType::f32, {3})}});
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
