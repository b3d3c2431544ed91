// Overlap of communication between ranks with computation.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/random_tensors.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/distributed/shard_feeds.h"
#include "weft/graph/distributed/step_run.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/linear.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/shards/watched_transport.h"
#include "weft/tests/support/messages.h"

namespace weft::testing::overlap {
namespace {

constexpr int kShards = 4;
// In bytes: messages with parameters or sums are larger than this, control messages smaller.
constexpr std::size_t kSmall = 1000;

// Boost.Test checks are not thread-safe, and the ranks of a ThreadWorld are threads.
std::mutex one_at_a_time;

// A network of two matrices with biases.
struct Network {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 64});
  Value labels = g.input("labels", DType::i32, {"batch"});
  Value logits;
  Program train{"train"}, evaluate{"evaluate"};

  explicit Network(std::int64_t width = 1030) {
    const Scope net(g, "net");
    logits = linear(net / "out", tanh(linear(net / "in", x, width)), 100);
    const Value loss = cross_entropy(logits, labels, {.reduction = Reduction::shard_mean});
    const TrainingStep step = adamw(loss, g.parameters(), {.lr = 0.01, .step = {.clip_norm = 0.5}});
    train.output("loss", loss).update(step).shards({.count = kShards});
    evaluate.output("logits", shard_concat(logits)).shards({.count = kShards});
  }
  static NamedTensors batch(int step) {
    const auto seed = static_cast<std::uint64_t>(step);
    return {{"x", normal_tensor({8, 64}, seed)},
            {"labels", integer_tensor({8}, seed + 50, 0, 100, DType::i32)}};
  }
};

// Returns the parameters after some steps on a single rank.
std::map<std::string, Tensor, std::less<>> alone(int steps) {
  Network network;
  Session session(network.g, {.seed = 3, .threads = 1});
  for (int step = 0; step < steps; ++step) session.run(network.train, Network::batch(step));
  return session.store()->snapshot();
}

void check_parameters(Network& network, Session& session, int steps) {
  const auto expected = alone(steps);
  for (const Variable& v : network.g.parameters()) {
    const Tensor found = session.store()->tensor(v.name());
    const std::lock_guard lock(one_at_a_time);
    BOOST_TEST(expect_same_bits(found, expected.at(v.name())));
  }
}

// Blocks callers of pass() until it is opened.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  // The wait is limited, so that a failing test does not hang.
  void pass() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return open_; }))
      throw WorldError("the gate was never opened");
  }
  bool is_open() {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Runs two ranks. The gate delays the parameters of rank 1 after the first step. Rank 0 runs
// body(network, session), rank 1 runs other(network, session).
void with_late_parameters(Gate& gate,
                          const std::function<void(Network& network, Session& session)>& body,
                          const std::function<void(Network& network, Session& session)>& other) {
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const bool first = end->rank() == 0;
    const auto hold_back = [&](const WatchedTransport::Sent& sent) {
      if (!first && sent.phase == "the end of the step" && sent.bytes > kSmall) gate.pass();
    };
    Network network;
    Session session(network.g,
                    {.seed = 3,
                     .threads = 1,
                     .world = World(std::make_shared<WatchedTransport>(end, hold_back))});
    (first ? body : other)(network, session);
  });
}

BOOST_AUTO_TEST_SUITE(overlap)

BOOST_AUTO_TEST_CASE(sums_are_sent_while_the_last_shard_is_computed) {
  ThreadWorld world(2);
  int in_last = 0, before = 0;
  world.run([&](const std::shared_ptr<Transport>& end) {
    const std::string last = end->rank() == 0 ? "shard 1 of 4" : "shard 3 of 4";
    const std::string one_before = end->rank() == 0 ? "shard 0 of 4" : "shard 2 of 4";
    const auto count = [&](const WatchedTransport::Sent& sent) {
      const std::lock_guard lock(one_at_a_time);
      in_last += sent.phase == last ? 1 : 0;
      before += sent.phase == one_before ? 1 : 0;
    };
    Network network;
    Session session(network.g, {.seed = 3,
                                .threads = 1,
                                .world = World(std::make_shared<WatchedTransport>(end, count)),
                                .bucket_bytes = 1 << 14});
    session.run(network.train, Network::batch(0));
  });
  // The sums are 0.7 MB in buckets of 16 KiB, some of which are complete before the last shard
  // ends.
  BOOST_TEST(in_last >= 20);
  BOOST_TEST(before == 0);
}

BOOST_AUTO_TEST_CASE(owned_sums_are_sent_while_every_shard_is_computed) {
  ThreadWorld world(2);
  std::map<std::string, std::size_t> sent_in;  // bytes sent in each phase
  world.run([&](const std::shared_ptr<Transport>& end) {
    const auto count = [&](const WatchedTransport::Sent& sent) {
      const std::lock_guard lock(one_at_a_time);
      sent_in[sent.phase] += sent.bytes;
      if (sent.phase.starts_with("shard")) BOOST_TEST(sent.bytes <= (1u << 14));
    };
    Network network;
    Session session(network.g, {.seed = 3,
                                .threads = 1,
                                .world = World(std::make_shared<WatchedTransport>(end, count)),
                                .bucket_bytes = 1 << 14,
                                .gradients = GradientSums::owned});
    session.run(network.train, Network::batch(0));
    check_parameters(network, session, 1);
  });
  // One rank owns 412 KB of each shard's 676 KB, since matrices are split at multiples of 256 KiB.
  for (int shard = 0; shard < kShards; ++shard)
    BOOST_TEST(sent_in["shard " + std::to_string(shard) + " of 4"] > 263'000u);
}

// A shard has 676 KB of gradients, and each rank computes two shards. With whole sums, a rank holds
// all gradients and the sums that owners receive. With owned sums, it holds the 412 KB that it
// owns, 8 open buckets of 16 KiB, the bucket being filled, and the same number of buckets being
// received.
BOOST_AUTO_TEST_CASE(owned_sums_need_a_fraction_of_the_memory) {
  const auto most = [](GradientSums gradients) {
    std::size_t bytes = 0;
    ThreadWorld world(2);
    world.run([&](const std::shared_ptr<Transport>& end) {
      Network network;
      Session session(network.g, {.seed = 3,
                                  .threads = 1,
                                  .world = World(end),
                                  .bucket_bytes = 1 << 14,
                                  .gradients = gradients});
      for (int step = 0; step < 2; ++step) session.run(network.train, Network::batch(step));
      check_parameters(network, session, 2);
      const std::lock_guard lock(one_at_a_time);
      bytes = std::max(bytes, session.sum_bytes());
    });
    return bytes;
  };
  const std::size_t whole = most(GradientSums::whole), owned = most(GradientSums::owned);
  BOOST_TEST(whole > 1'000'000u);
  BOOST_TEST(owned < 412'000u + 1024 + 2 * (kMaxOpenBuckets + 1) * (1 << 14));
}

BOOST_AUTO_TEST_CASE(without_overlap_nothing_is_sent_while_shards_are_computed) {
  ThreadWorld world(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const auto look = [&](const WatchedTransport::Sent& sent) {
      const std::lock_guard lock(one_at_a_time);
      BOOST_TEST(!sent.phase.starts_with("shard"), sent.phase);
      BOOST_TEST((sent.bytes < kSmall || sent.phase != "the end of the step"));
    };
    Network network;
    Session session(network.g, {.seed = 3,
                                .threads = 1,
                                .world = World(std::make_shared<WatchedTransport>(end, look)),
                                .overlap = false});
    for (int step = 0; step < 2; ++step) session.run(network.train, Network::batch(step));
    check_parameters(network, session, 2);
  });
}

BOOST_AUTO_TEST_CASE(the_next_step_starts_before_all_parameters_have_arrived) {
  Gate gate;
  const auto two_steps = [](Network& network, Session& session) {
    for (int step = 0; step < 2; ++step) session.run(network.train, Network::batch(step));
    check_parameters(network, session, 2);
  };
  const auto body = [&](Network& network, Session& session) {
    session.run(network.train, Network::batch(0));
    session.run_shards(network.train, [&](int shard) {
      gate.open();  // opened only after the second step has started
      return slice_feeds(network.train, Network::batch(1), shard);
    });
    check_parameters(network, session, 2);
  };
  with_late_parameters(gate, body, two_steps);
}

BOOST_AUTO_TEST_CASE(readers_of_the_store_wait_for_pending_parameters) {
  Gate gate;
  const auto step_of_other = [](Network& network, Session& session) {
    session.run(network.train, Network::batch(0));
    check_parameters(network, session, 1);
  };
  const auto body = [&](Network& network, Session& session) {
    const auto expected = alone(1);
    session.run(network.train, Network::batch(0));
    const std::string name = "net.out.weight";  // rank 1 owns the end of this parameter
    bool waited = false;
    Tensor read, served, evaluated;
    std::map<std::string, Tensor, std::less<>> saved;
    // Threads that read a parameter, save a snapshot, serve requests, and evaluate in shards.
    std::thread looks([&] {
      read = session.store()->tensor(name).clone();  // the value at this moment
      waited = gate.is_open();
    });
    std::thread saves([&] {
      for (const auto& [of, value] : session.store()->snapshot()) saved.emplace(of, value.clone());
    });
    Network serving;
    std::thread serves([&] {
      Session reader(serving.g, session.store(), {.threads = 1});
      const Program serve = Program("serve").output("logits", serving.logits);
      served = reader.run(serve, {Network::batch(0)[0]})["logits"].clone();
    });
    Network in_shards;
    std::thread evaluates([&] {
      Session reader(in_shards.g, session.store(), {.threads = 1});
      evaluated = reader.run(in_shards.evaluate, {Network::batch(0)[0]})["logits"].clone();
    });
    // Long enough for a thread that does not wait to finish.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
    for (std::thread* thread : {&looks, &saves, &serves, &evaluates}) thread->join();
    Network fresh;
    Session one(fresh.g, {.seed = 3, .threads = 1});
    one.run(fresh.train, Network::batch(0));
    const Program serve = Program("serve").output("logits", fresh.logits);
    const Tensor logits = one.run(serve, {Network::batch(0)[0]})["logits"];
    const Tensor logits_in_shards = one.run(fresh.evaluate, {Network::batch(0)[0]})["logits"];
    const std::lock_guard lock(one_at_a_time);
    BOOST_TEST(waited);
    BOOST_TEST(expect_same_bits(read, expected.at(name)));
    BOOST_TEST(expect_same_bits(served, logits));
    BOOST_TEST(expect_same_bits(evaluated, logits_in_shards));
    for (const Variable& v : network.g.parameters())
      BOOST_TEST(expect_same_bits(saved.at(v.name()), expected.at(v.name())));
  };
  with_late_parameters(gate, body, step_of_other);
}

// Ranks 0 and 1 are on one host, ranks 2 and 3 on another. The data that rank 0 must forward to
// rank 1 arrives while rank 0 is busy.
BOOST_AUTO_TEST_CASE(a_busy_rank_forwards_parameters) {
  Gate gate;
  ThreadWorld world(4, {.seed = 5, .per_host = 2});
  world.run([&](const std::shared_ptr<Transport>& end) {
    Network network;
    Session session(network.g, {.seed = 3, .threads = 1, .world = World(end, {.max_direct = 1})});
    session.run(network.train, Network::batch(0));
    if (end->rank() == 0) gate.pass();
    check_parameters(network, session, 1);
    if (end->rank() == 1) gate.open();
  });
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_at_its_start_keeps_the_previous_parameters) {
  Gate gate;
  const auto wrong = [&](Network& network, Session& session) {
    session.run(network.train, Network::batch(0));
    const auto no_feeds = [&](int) -> NamedTensors {
      gate.open();
      throw ArgumentError("the data ends here");
    };
    std::string message;
    try {
      session.run_shards(network.train, no_feeds);
    } catch (const ArgumentError& e) {
      message = e.what();
    }
    {
      const std::lock_guard lock(one_at_a_time);
      BOOST_TEST(message == "shard 0 of 4: the data ends here");
      BOOST_TEST(!session.store()->torn());
    }
    check_parameters(network, session, 1);
  };
  const auto other = [](Network& network, Session& session) {
    session.run(network.train, Network::batch(0));
    bool ended = false;
    try {
      session.run(network.train, Network::batch(1));
    } catch (const WorldError&) {
      ended = true;
    }
    const std::lock_guard lock(one_at_a_time);
    BOOST_TEST(ended);
  };
  with_late_parameters(gate, wrong, other);
}

BOOST_AUTO_TEST_CASE(a_rank_lost_during_the_parameter_exchange_makes_the_store_inconsistent) {
  for (const bool at_once : {false, true}) {
    BOOST_TEST_CONTEXT("overlap " << at_once) {
      ThreadWorld world(3);
      int torn = 0;
      const auto body = [&](const std::shared_ptr<Transport>& end) {
        const bool fails = end->rank() == 1;
        const auto cut = [&](const WatchedTransport::Sent& sent) {
          const std::string phase = at_once ? "the end of the step" : "the exchange of parameters";
          if (fails && sent.phase == phase && sent.bytes > kSmall)
            throw WorldError("the cable is out");
        };
        Network network;
        Session session(network.g, {.seed = 3,
                                    .threads = 1,
                                    .world = World(std::make_shared<WatchedTransport>(end, cut)),
                                    .overlap = at_once});
        session.initialise();
        const std::map<std::string, Tensor, std::less<>> before = session.store()->snapshot();
        try {
          session.run(network.train, Network::batch(0));
          session.store()->snapshot();
        } catch (const WorldError& e) {
          if (fails) end->poison(e.what());
          const std::lock_guard lock(one_at_a_time);
          torn += session.store()->torn() ? 1 : 0;
          BOOST_TEST((session.store()->torn() || !fails));
          if (session.store()->torn()) {
            check_error<StateError>(
                [&] { session.store()->snapshot(); },
                {"cannot be read: an earlier run failed while it was writing them"});
            throw;
          }
          // A rank that had not started the exchange keeps its old values.
          for (const auto& [name, value] : before)
            BOOST_TEST(expect_same_bits(session.store()->tensor(name), value));
          throw;
        }
      };
      BOOST_CHECK_THROW(world.run(body), WorldError);
      BOOST_TEST(torn >= 1);
    }
  }
}

// The parameters have 8.5 MB, which is more than one section.
BOOST_AUTO_TEST_CASE(every_rank_owns_a_range_of_each_section_and_an_equal_part_in_total) {
  constexpr std::int64_t kWidth = 13000, kBlock = 65536;
  for (const int ranks : {2, 3}) {
    Network network(kWidth);
    const OwnedStep step = own_step(split_shards(network.train), 0, ranks);
    std::int64_t all = 0;
    for (const Variable& v : network.g.parameters()) all += v.shape().numel().constant();
    for (std::size_t r = 0; r < step.pieces.size(); ++r) {
      BOOST_TEST_CONTEXT("rank " << r << " of " << ranks) {
        std::int64_t elements = 0, of_first = 0, of_last = 0;
        for (const OwnedPiece& piece : step.pieces[r]) {
          const OwnedStep::Unit& unit = step.units[piece.unit];
          elements += piece.end - piece.begin;
          if (!unit.cut) continue;
          (unit.elements == 64 * kWidth ? of_first : of_last) += piece.end - piece.begin;
        }
        BOOST_TEST(std::abs(elements - all / ranks) <= 2 * kBlock);
        BOOST_TEST(std::abs(of_first - 64 * kWidth / ranks) <= kBlock);
        BOOST_TEST(std::abs(of_last - 100 * kWidth / ranks) <= 2 * kBlock);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sections_do_not_change_bits) {
  const auto trained = [](const World& world) {
    Network network(13000);
    Session session(network.g, {.seed = 3, .threads = 1, .world = world});
    for (int step = 0; step < 2; ++step) session.run(network.train, Network::batch(step));
    session.gather_state();
    NamedTensors result;
    for (const Variable& v : network.train.variables())
      result.emplace_back(v.name(), session.value(v.name()));
    return result;
  };
  const NamedTensors expected = trained({});
  for (const int ranks : {2, 3}) {
    ThreadWorld world(ranks, {.seed = 7, .max_delay = std::chrono::microseconds(200)});
    world.run([&](const std::shared_ptr<Transport>& end) {
      const NamedTensors found = trained(World(end));
      const std::lock_guard lock(one_at_a_time);
      check_same(found, expected);
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing::overlap
