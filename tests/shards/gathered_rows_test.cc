// Losses over the rows of all shards (gradient caching): they match the plain step up to rounding,
// also with dropout and on several ranks, and need the memory of a shard.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/functions/composed/info_nce.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/training/gathered_rows.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

constexpr std::int64_t kFeatures = 6, kHidden = 5, kTexts = 12;

/// Two towers that share a matrix, and a contrastive loss with marks of rows, which have no
/// gradient.
struct Towers {
  explicit Towers(bool gathered, int shards, double dropped = 0) {
    const Value x = g.input("x", DType::f32, {"rows", kFeatures}),
                y = g.input("y", DType::f32, {"rows", kFeatures}),
                marks = g.input("marks", DType::i64, {"rows"});
    const auto tower = [&](const Value& v) {
      const Value h = tanh(matmul(v, weight.value()));
      return matmul(dropout(Scope(g, "net").training(), h, dropped), weight.value(),
                    {.transpose_b = true});
    };
    std::vector<Value> values = {tower(x), tower(y), marks};
    if (gathered) {
      const Value rows = g.input("rows", DType::i64, {"rows"});
      for (Value& value : values) value = gathered_rows(value, rows, kTexts);
    }
    const Value same = equal(unsqueeze(values[2], 1), unsqueeze(values[2], 0));
    const Value loss =
        info_nce(values[0], values[1], {.excluded = same, .temperature = 0.2, .symmetric = true});
    const TrainingStep step = adamw(loss, g.parameters(), {.lr = 0.01});
    program.output("loss", loss).output("norm", step.gradient_norm).update(step);
    if (gathered) program.shards({.count = shards});
  }

  /// The rows [begin, end) of a batch.
  static NamedTensors rows(std::int64_t begin, std::int64_t end, bool gathered) {
    std::vector<float> x, y;
    std::vector<std::int64_t> marks, rows;
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t k = 0; k < kFeatures; ++k) {
        x.push_back(std::sin(static_cast<float>(3 * i + 7 * k + 1)));
        y.push_back(std::cos(static_cast<float>(5 * i + 2 * k)));
      }
      marks.push_back(i % 5);
      rows.push_back(i);
    }
    const std::int64_t n = end - begin;
    NamedTensors fed = {{"x", Tensor::of({n, kFeatures}, x)},
                        {"y", Tensor::of({n, kFeatures}, y)},
                        {"marks", Tensor::of({n}, marks)}};
    if (gathered) fed.emplace_back("rows", Tensor::of({n}, rows));
    return fed;
  }

  Graph g;
  Variable weight = g.variable("net.weight", DType::f32, {kFeatures, kHidden},
                               {.initializer = Initializer::normal(0.5)});
  Program program{"train"};
};

/// Returns the losses and norms of three steps, and the parameters after them. Shard s of `shards`
/// has s + 1 rows more than an equal share if `uneven` is set.
NamedTensors after_steps(Towers& towers, int shards, bool gathered, SessionOptions options = {},
                         bool uneven = false) {
  options.seed = 5;
  Session session(towers.g, options);
  NamedTensors result;
  for (int step = 0; step < 3; ++step) {
    const Results results = session.run_shards(towers.program, [&](int shard) {
      const std::int64_t each = kTexts / shards;
      const auto cut = [&](std::int64_t s) {
        return s == shards ? kTexts : s * each - (uneven && s > 0 ? 1 : 0);
      };
      return Towers::rows(cut(shard), cut(shard + 1), gathered);
    });
    for (const auto& [name, value] : results) result.emplace_back(name, value.clone());
  }
  result.emplace_back("weight", session.value("net.weight").clone());
  return result;
}

BOOST_AUTO_TEST_SUITE(gathered_rows_of_shards)

BOOST_AUTO_TEST_CASE(the_step_matches_the_plain_step_for_any_number_of_shards) {
  Towers plain(false, 1);
  const NamedTensors expected = after_steps(plain, 1, false);
  for (const int shards : {1, 2, 4}) {
    for (const bool uneven : {false, true}) {
      BOOST_TEST_CONTEXT(shards << " shards, uneven " << uneven) {
        Towers gathered(true, shards);
        const NamedTensors found = after_steps(gathered, shards, true, {}, uneven);
        BOOST_REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
          BOOST_TEST(expect_close(found[i].second, expected[i].second,
                                  {.absolute = 1e-5, .relative = 1e-5}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_loss_compares_the_rows_of_all_ranks_bit_exactly) {
  Towers alone(true, 4, 0.2);
  const NamedTensors expected = after_steps(alone, 4, true);
  for (const int ranks : {2, 4}) {
    const auto found = on_ranks(ranks, [](const World& world) {
      Towers towers(true, 4, 0.2);
      return after_steps(towers, 4, true, {.world = world});
    });
    for (const NamedTensors& of_rank : found) check_same(of_rank, expected);
  }
}

// The gradient of the gathered loss is the directional derivative of the loss, which is possible
// only if both passes over a shard draw the same random numbers.
BOOST_AUTO_TEST_CASE(both_passes_over_a_shard_drop_the_same_values) {
  Towers towers(true, 2, 0.5);
  const Program& program = towers.program;
  constexpr double kStep = 1e-3;
  const auto batch = [](int shard) { return Towers::rows(6 * shard, 6 * shard + 6, true); };
  const auto loss_at = [&](double shift, std::int64_t element) {
    Session session(towers.g, {.seed = 5});
    Tensor weight = session.value("net.weight").clone();
    weight.mutable_data<float>()[element] += static_cast<float>(shift);
    session.set_value("net.weight", weight);
    return static_cast<double>(session.run_shards(program, batch)["loss"].item<float>());
  };
  std::string moment;
  for (const Variable& variable : program.variables()) {
    const std::string& name = variable.name();
    if (moment.empty() && name != "net.weight" && name.find("net.weight") != std::string::npos)
      moment = name;
  }
  Session session(towers.g, {.seed = 5});
  session.run_shards(program, batch);
  const Tensor mean = session.value(moment);
  for (const std::int64_t element : {0, 7, 29}) {
    const double slope = (loss_at(kStep, element) - loss_at(-kStep, element)) / (2 * kStep);
    // After one step, the mean of the gradients is (1 - beta1) times the gradient.
    BOOST_TEST(std::abs(slope - mean.at(element) / 0.1) < 2e-3);
  }
}

BOOST_AUTO_TEST_CASE(a_step_needs_the_memory_of_a_shard) {
  constexpr std::int64_t kMany = 256, kWide = 2048;
  const auto arena = [](int shards) {
    Graph g;
    const Value x = g.input("x", DType::f32, {"rows", 16});
    const Variable up = g.variable("up", DType::f32, {16, kWide}),
                   down = g.variable("down", DType::f32, {kWide, 8});
    Value h = matmul(x, up.value());
    for (int i = 0; i < 4; ++i) h = tanh(h) * h;
    const Value v = matmul(h, down.value());
    const Value all =
        shards == 1 ? v : gathered_rows(v, g.input("rows", DType::i64, {"rows"}), kMany);
    const Value loss = info_nce(all, all * 2);
    Program train("train");
    train.output("loss", loss).update(adamw(loss, g.parameters())).shards({.count = shards});
    Session session(g, {.threads = 1});
    session.run_shards(train, [&](int shard) {
      const std::int64_t n = kMany / shards;
      NamedTensors fed = {{"x", normal_tensor({n, 16}, static_cast<std::uint64_t>(shard))}};
      if (shards > 1) {
        std::vector<std::int64_t> rows;
        for (std::int64_t i = 0; i < n; ++i) rows.push_back(shard * n + i);
        fed.emplace_back("rows", Tensor::of({n}, rows));
      }
      return fed;
    });
    return session.arena_bytes();
  };
  BOOST_TEST(arena(8) < arena(1) / 4);
}

BOOST_AUTO_TEST_CASE(errors_name_the_operands_and_the_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 3}), rows = g.input("rows", DType::i64, {"n"}),
              other = g.input("other", DType::i64, {"m"});
  const auto error = [](const std::function<void()>& build, const std::string& part) {
    BOOST_CHECK_EXCEPTION(build(), Error,
                          message_contains({"gathered_rows", part, "gathered_rows_test.cc"}));
  };
  error([&] { gathered_rows(x, rows, 0); }, "the batch must have at least 1 row, not 0");
  error([&] { gathered_rows(x, other, 4); },
        "rows must be i64 [n] for x [n, ...], but are i64[m] for f32[n, 3]");
  error([&] { gathered_rows(g.scalar(DType::f32, 1), rows, 4); }, "rows must be i64 [n]");
  Session session(g);
  const Program program = Program("p").output("all", gathered_rows(x, rows, 4));
  const auto run = [&](std::vector<std::int64_t> places) {
    return session.run(program,
                       {{"x", normal_tensor({2, 3}, 1)}, {"rows", Tensor::of({2}, places)}})["all"];
  };
  const Tensor all = run({3, 1}), own = normal_tensor({2, 3}, 1);
  for (int k = 0; k < 3; ++k) {
    BOOST_TEST(all.at(k) == 0);
    BOOST_TEST(all.at(3 + k) == own.at(3 + k));
    BOOST_TEST(all.at(6 + k) == 0);
    BOOST_TEST(all.at(9 + k) == own.at(k));
  }
  BOOST_CHECK_THROW(run({0, 4}), DataError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
