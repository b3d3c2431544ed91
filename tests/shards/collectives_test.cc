// Collective ops: their results, their costs and their errors.
#include "weft/graph/functions/collectives.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

using Build = std::function<Value(Graph& g, Value x, int ranks)>;

struct Case {
  std::string name;
  Build build;
  /// Returns the expected element `i` of the result on rank `rank`. x holds the inputs of all
  /// ranks, each with `rows` rows of 3 elements.
  std::function<double(const std::vector<Tensor>& x, int rank, std::int64_t i)> expected;
  bool cut = false;  // the rows of x are divided among the ranks
};

double sum_of(const std::vector<Tensor>& x, std::int64_t i) {
  double sum = 0;
  for (const Tensor& t : x) sum += t.at(i);
  return sum;
}

std::vector<SendRecv> ring(int ranks) {
  std::vector<SendRecv> pairs;
  for (int r = 0; r + 1 < ranks; ++r) pairs.push_back({r, r + 1});
  return pairs;
}

// Returns cases for an input x [rows, 3] on each rank.
std::vector<Case> cases() {
  const auto ranks_of = [](const std::vector<Tensor>& x) { return std::ssize(x); };
  return {
      {"all_reduce", [](Graph&, Value x, int w) { return all_reduce(x, w); },
       [](const std::vector<Tensor>& x, int, std::int64_t i) { return sum_of(x, i); }},
      {"all_gather", [](Graph&, Value x, int w) { return all_gather(x, w); },
       [](const std::vector<Tensor>& x, int, std::int64_t i) {
         return x[static_cast<std::size_t>(i / x[0].numel())].at(i % x[0].numel());
       }},
      {"all_gather of columns", [](Graph&, Value x, int w) { return all_gather(x, w, -1); },
       [=](const std::vector<Tensor>& x, int, std::int64_t i) {
         const std::int64_t columns = 3 * ranks_of(x), row = i / columns, column = i % columns;
         return x[static_cast<std::size_t>(column / 3)].at(3 * row + column % 3);
       }},
      {"reduce_scatter", [](Graph&, Value x, int w) { return reduce_scatter(x, w); },
       [=](const std::vector<Tensor>& x, int rank, std::int64_t i) {
         return sum_of(x, rank * (x[0].numel() / ranks_of(x)) + i);
       },
       true},
      {"all_to_all", [](Graph&, Value x, int w) { return all_to_all(x, w); },
       [=](const std::vector<Tensor>& x, int rank, std::int64_t i) {
         const std::int64_t part = x[0].numel() / ranks_of(x);
         return x[static_cast<std::size_t>(i / part)].at(rank * part + i % part);
       },
       true},
      {"broadcast_from", [](Graph&, Value x, int w) { return broadcast_from(x, w, w - 1); },
       [](const std::vector<Tensor>& x, int, std::int64_t i) { return x.back().at(i); }},
      {"send_recv", [](Graph&, Value x, int w) { return send_recv(x, w, ring(w)); },
       [](const std::vector<Tensor>& x, int rank, std::int64_t i) {
         return rank == 0 ? 0.0 : x[static_cast<std::size_t>(rank) - 1].at(i);
       }},
  };
}

NamedTensors copies(const Results& results) {
  NamedTensors all;
  for (const auto& [name, value] : results) all.emplace_back(name, value.clone());
  return all;
}

// Returns the error message that all ranks must report.
std::string line_of(int ranks, const std::function<void(World)>& body) {
  try {
    on_ranks(ranks, [&](const World& world) {
      body(world);
      return NamedTensors();
    });
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

BOOST_AUTO_TEST_SUITE(collectives)

BOOST_AUTO_TEST_CASE(each_rank_receives_the_expected_result) {
  for (const Case& c : cases()) {
    for (const int ranks : {1, 2, 3, 4, 5}) {
      for (const std::int64_t rows : {0, 1, 7, 3000}) {
        for (const DType dtype : {DType::f64, DType::i32, DType::f32}) {
          BOOST_TEST_CONTEXT(c.name << " of " << ranks << " ranks, " << rows << " rows, "
                                    << dtype_name(dtype)) {
            const std::int64_t n = c.cut ? rows * ranks : rows;
            std::vector<Tensor> x;
            for (int r = 0; r < ranks; ++r)
              x.push_back(integer_tensor({n, 3}, static_cast<std::uint64_t>(r), -50, 50, dtype));
            const auto found = on_ranks(ranks, [&](const World& world) {
              Graph g;
              const Value in = g.input("x", dtype, {c.cut ? AxisSize(n) : AxisSize("n"), 3});
              Session session(g, {.threads = 2, .world = world, .poison = true, .shuffle_seed = 3});
              const Program program = Program("p").output("y", c.build(g, in, ranks));
              return copies(
                  session.run(program, {{"x", x[static_cast<std::size_t>(world.rank())]}}));
            });
            for (int r = 0; r < ranks; ++r) {
              const Tensor y = found[static_cast<std::size_t>(r)][0].second;
              std::int64_t wrong = 0;
              for (std::int64_t i = 0; i < y.numel(); ++i) wrong += y.at(i) != c.expected(x, r, i);
              BOOST_TEST(wrong == 0, "rank " << r);
            }
          }
        }
      }
    }
  }
}

// Compares the sums over all ranks of <y, A x> and <A^T y, x>.
BOOST_AUTO_TEST_CASE(gradients_are_the_adjoints) {
  for (const Case& c : cases()) {
    for (const int ranks : {1, 2, 3, 4}) {
      const std::int64_t n = c.cut ? 2 * ranks : 2;
      const auto found = on_ranks(ranks, [&](const World& world) {
        Graph g;
        const auto seed = static_cast<std::uint64_t>(world.rank());
        const Value x = g.input("x", DType::f64, {n, 3});
        const Value y = c.build(g, x, ranks);
        const Value of = g.input("of", y.type());
        Session session(g, {.world = world});
        return copies(
            session.run(Program("p")
                            .output("there", sum(of * y))
                            .output("back", sum(x * gradient(y, x, {.cotangent = of}))),
                        {{"x", normal_tensor({n, 3}, seed, DType::f64)},
                         {"of", normal_tensor(y.shape().constant(), seed + 9, DType::f64)}}));
      });
      double there = 0, back = 0;
      for (const NamedTensors& rank : found) {
        there += rank[0].second.item<double>();
        back += rank[1].second.item<double>();
      }
      BOOST_TEST(std::abs(there - back) < 1e-12, c.name << " of " << ranks);
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_follow_the_tree) {
  // Adding these numbers from left to right would drop the ones: 2^24 + 1 rounds to 2^24.
  const std::vector<float> x = {16777216.0f, 1, -16777216.0f, 2};
  const auto found = on_ranks(4, [&](const World& world) {
    Graph g;
    Session session(g, {.world = world});
    const Value in = g.input("x", DType::f32, {});
    return copies(
        session.run(Program("p").output("y", all_reduce(in, 4)),
                    {{"x", Tensor::of<float>({}, {x[static_cast<std::size_t>(world.rank())]})}}));
  });
  for (const NamedTensors& rank : found)
    BOOST_TEST(rank[0].second.item<float>() == (x[0] + x[1]) + (x[2] + x[3]));
}

// A feed-forward layer with two products, split by hidden units: every rank holds some of the
// units.
struct SplitLayer {
  explicit SplitLayer(const World& world)
      : ranks(world.size()),
        columns(g.variable("columns", DType::f32, {6, 8 / world.size()})),
        rows(g.variable("rows", DType::f32, {8 / world.size(), 3})) {}
  Program train() {
    // The operators f and g of Megatron. g sums after the layer in the forward pass; f sums before
    // the layer in the backward pass.
    const Value y = all_reduce(matmul(tanh(matmul(x, columns)), rows), ranks);
    // The loss is the same on all ranks, and each rank differentiates its fraction of the loss.
    const Value loss = mean(square(y - 1));
    const TrainingStep step = sgd(loss / ranks, {columns, rows}, {.lr = 0.5});
    return Program("train").output("loss", loss).update(step);
  }
  Graph g;
  int ranks;
  Variable columns, rows;
  Value x = g.input("x", DType::f32, {"batch", 6});
};

BOOST_AUTO_TEST_CASE(a_split_layer_trains_like_the_whole_layer) {
  const Tensor columns = normal_tensor({6, 8}, 1), rows = normal_tensor({8, 3}, 2);
  const Tensor x = normal_tensor({5, 6}, 3);
  const auto trained = [&](const World& world, SessionOptions options) {
    SplitLayer net(world);
    options.world = world;
    Session session(net.g, options);
    const std::int64_t units = 8 / world.size();
    Graph cut;
    Session cutter(cut);
    const Program part =
        Program("part")
            .output("columns",
                    slice(cut.constant(columns), 1,
                          {.begin = units * world.rank(), .end = units * (world.rank() + 1)}))
            .output("rows",
                    slice(cut.constant(rows), 0,
                          {.begin = units * world.rank(), .end = units * (world.rank() + 1)}));
    for (const auto& [name, value] : cutter.run(part)) session.set_value(name, value);
    const Program train = net.train();
    NamedTensors losses;
    for (int i = 0; i < 5; ++i)
      losses.emplace_back("loss", session.run(train, {{"x", x}})["loss"].clone());
    return losses;
  };
  const NamedTensors whole = trained(World(), {});
  for (const int ranks : {2, 4}) {
    const auto found =
        on_ranks(ranks, [&](const World& world) { return trained(world, {.threads = 1}); });
    for (const NamedTensors& rank : found) {
      for (std::size_t i = 0; i < whole.size(); ++i) {
        BOOST_TEST(expect_close(rank[i].second, whole[i].second, {.relative = 1e-5}), "step " << i);
        BOOST_TEST(expect_same_bits(rank[i].second, found[0][i].second));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(collectives_are_allowed_in_loops_but_not_in_branches) {
  const auto found = on_ranks(3, [&](const World& world) {
    Graph g;
    const Value x = g.input("x", DType::f32, {2});
    const ScanBody body = [](Graph&, const ScanElements& in) {
      return ScanStep{{send_recv(in.carries[0], 3, {{0, 1}, {1, 2}, {2, 0}})}};
    };
    const Value moved = scan(g, {x}, {}, {}, body, {.length = AxisSize(4)}).carries[0];
    Session session(g, {.world = world});
    return copies(session.run(Program("p").output("y", moved),
                              {{"x", Tensor::full(DType::f32, {2}, world.rank())}}));
  });
  for (int r = 0; r < 3; ++r)
    BOOST_TEST(found[static_cast<std::size_t>(r)][0].second.at(1) == (r + 2) % 3);

  const std::string line = line_of(2, [&](const World& world) {
    Graph g;
    const Value x = g.input("x", DType::f32, {2});
    const auto branch = [](Graph&, const std::vector<Value>& in) {
      return std::vector<Value>{all_reduce(in[0], 2)};
    };
    const auto other = [](Graph&, const std::vector<Value>& in) {
      return std::vector<Value>{in[0] * 2};
    };
    const Value y = cond(greater(sum(x), 0), {x}, branch, other)[0];
    Session session(g, {.world = world});
    session.run(Program("p").output("y", y), {{"x", Tensor::zeros(DType::f32, {2})}});
  });
  BOOST_TEST(line.find("a collective op is inside a cond") != std::string::npos, line);
  BOOST_TEST(line.find("collectives_test.cc") != std::string::npos, line);
}

BOOST_AUTO_TEST_CASE(errors_name_a_wrong_number_of_ranks) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2});
  const Program program = Program("p").output("y", all_reduce(x, 2));
  const Tensor fed = Tensor::zeros(DType::f32, {2});
  Session alone(g);
  const std::vector<std::string> parts = {
      "built for a world of 2 ranks, but the world of this Session has 1: build the graph for "
      "World::size()",
      "all_reduce", "collectives_test.cc"};
  check_error<StateError>([&] { alone.run(program, {{"x", fed}}); }, parts);
  const std::string line = line_of(2, [&](const World& world) {
    Graph of_one;
    const Value own = of_one.input("x", DType::f32, {2});
    Session session(of_one, {.world = world});
    session.run(Program("p").output("y", all_reduce(own, 1)), {{"x", fed}});
  });
  BOOST_TEST(line.find("built for a world of 1 ranks, but the world of this Session has 2") !=
                 std::string::npos,
             line);
  check_error<StateError>(
      [&] {
        static_cast<void>(
            evaluate_op(builtin_ops()->at("all_reduce"), {fed}, {{"ranks", std::int64_t{2}}}));
      },
      {"op all_reduce requires several ranks: run it in a Session with a World"});
  check_error<ShapeError>([&] { reduce_scatter(g.input("odd", DType::f32, {3}), 2); },
                          {"the first axis, 3, cannot be divided into 2 equal parts"});
  Session shards(g);
  check_error<GraphError>(
      [&] {
        shards.run(Program("q").output("z", shard_sum(sum(all_reduce(x, 1)))).shards({.count = 2}),
                   {{"x", fed}});
      },
      {"all_reduce exchanges values between ranks explicitly", "collectives_test.cc"});
  const ScanBody body = [](Graph&, const ScanElements& in) {
    return ScanStep{{all_reduce(in.carries[0], 1)}};
  };
  const Value looped = scan(g, {sum(x)}, {}, {}, body, {.length = AxisSize(2)}).carries[0];
  check_error<GraphError>(
      [&] {
        shards.run(Program("r").output("z", shard_sum(looped)).shards({.count = 2}), {{"x", fed}});
      },
      {"all_reduce exchanges values between ranks explicitly", "collectives_test.cc"});
}

BOOST_AUTO_TEST_CASE(programs_that_differ_between_ranks_are_reported_before_they_run) {
  const std::string line = line_of(2, [](const World& world) {
    Graph g;
    const Value x = g.input("x", DType::f32, {2});
    Session session(g, {.world = world});
    session.run(Program("p").output("y", all_reduce(x * (world.first() ? 1 : 2), 2)),
                {{"x", Tensor::zeros(DType::f32, {2})}});
  });
  BOOST_TEST(line.find("ranks differ in the program") != std::string::npos, line);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_do_not_abort_the_ranks) {
  const std::vector<NamedTensors> found = on_ranks(2, [](const World& world) {
    Graph g;
    const Value x = g.input("x", DType::f32, {2});
    const Program program = Program("p").output("y", all_reduce(x, 2));
    Session session(g, {.world = world});
    const NamedTensors ones = {{"x", Tensor::full(DType::f32, {2}, 1)}};
    const auto is_rejected = [&](const NamedTensors& feeds, const RunOptions& options) {
      try {
        session.run(program, feeds, options);
      } catch (const WorldError&) {
        throw;
      } catch (const Error&) {
        return true;
      }
      return false;
    };
    if (!is_rejected({{"x", Tensor::zeros(DType::f64, {2})}}, {}) ||
        !is_rejected({{"x", Tensor()}}, {}) ||
        !is_rejected(ones, {.into = {{"y", Tensor::zeros(DType::f32, {3})}}}))
      return NamedTensors();
    return NamedTensors{{"y", session.run(program, ones)["y"]}};
  });
  for (const NamedTensors& of_rank : found) {
    BOOST_REQUIRE(of_rank.size() == 1u);
    BOOST_TEST(of_rank[0].second.at(0) == 2);
  }
}

BOOST_AUTO_TEST_CASE(an_error_on_one_rank_aborts_all_ranks) {
  std::mutex mutex;
  std::vector<std::string> others;
  const std::string line = line_of(3, [&](const World& world) {
    Graph g;
    const Value ids = g.input("ids", DType::i64, {2});
    const Value rows = take(g.constant(normal_tensor({4, 2}, 1)), ids, 0);
    Session session(g, {.world = world});
    const std::int64_t id = world.rank() == 1 ? 9 : 0;
    try {
      session.run(Program("p").output("y", all_reduce(rows, 3)),
                  {{"ids", Tensor::of<std::int64_t>({2}, {0, id})}}, {.part_of = "step 4"});
    } catch (const WorldError& e) {
      const std::lock_guard lock(mutex);
      others.emplace_back(e.what());
      throw;
    }
  });
  BOOST_TEST(line.find("9") != std::string::npos, line);
  BOOST_REQUIRE(others.size() == 2u);
  for (const std::string& other : others)
    BOOST_TEST(other.starts_with("rank 1 (host thread-1): step 4: "), other);
}

BOOST_AUTO_TEST_CASE(text_and_costs_include_collectives) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4, 2});
  const Program program = Program("p")
                              .output("a", send_recv(x, 2, {{1, 0}}))
                              .output("b", reduce_scatter(x, 2))
                              .output("c", rank_number(g, 2));
  const std::string text = to_text(program);
  BOOST_TEST(text.find("send_recv(%x) {from = [1], ranks = 2, to = [0]}") != std::string::npos,
             text);
  BOOST_TEST(to_text(parse_text(text).program) == text);
  // The costs include the bytes sent over the network.
  Session session(g);
  BOOST_TEST(
      session.plan(Program("q").output("y", all_gather(x, 3)), {{"x", {4, 2}}})->cost().bytes ==
      32 + 96 + 2 * 2 * 32);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
