// Concatenated rows of all shards: outputs for the whole batch, and sparse updates for the rows
// that shards read.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/distributed/parts_text.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/models/layers/dropout.h"
#include "weft/models/layers/embedding.h"
#include "weft/serialization/checkpoint.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/shards/on_ranks.h"
#include "weft/tests/shards/same_bits.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

constexpr std::int64_t kBatch = 16, kWords = 50, kSeen = 20, kColumns = 4;

// Checks that all ranks have the same results, and returns the results.
NamedTensors same_on_ranks(int ranks, const std::function<NamedTensors(const World&)>& body) {
  const std::vector<NamedTensors> found = on_ranks(ranks, body);
  for (const NamedTensors& of_rank : found) check_same(of_rank, found[0]);
  return found[0];
}

// Words are looked up in a table, some of them repeatedly and in several shards. A second table has
// one row per position, and every shard reads the same number of rows from it.
struct Words {
  explicit Words(DType dtype = DType::f32) : dtype_(dtype) {}

  Program train(bool sparse, int shards, const Reduction& reduction = Reduction::shard_mean) {
    const Scope net(g, "net");
    const Value looked_up = embedding(tokens, table) + take(places, arange(g, 3), 0);
    const Value hidden = dropout(Scope(net).training(), tanh(looked_up), dropped);
    const Value logits = matmul(flatten(hidden, 1), head);
    const Value loss = cross_entropy(logits, labels, {.reduction = reduction});
    StepOptions options{.clip_norm = 0.5};
    if (sparse) options.sparse = {"net.table", "net.places"};
    const TrainingStep step =
        adamw(loss, g.parameters(), {.lr = 0.05, .weight_decay = 0.1, .step = options});
    return Program("train")
        .output("loss", loss)
        .output("norm", step.gradient_norm)
        .update(step)
        .shards({.count = shards});
  }
  NamedTensors batch(int step) const {
    const auto seed = static_cast<std::uint64_t>(step);
    Tensor labels_fed = integer_tensor({kBatch}, seed + 50, 0, 3, DType::i32);
    labels_fed.mutable_data<std::int32_t>()[step] = -100;
    return {{"tokens", integer_tensor({kBatch, 3}, seed, 0, kSeen, DType::i32)},
            {"labels", labels_fed}};
  }
  NamedTensors after_steps(const Program& program, SessionOptions options, int steps = 3) {
    options.seed = 5;
    Session session(g, options);
    NamedTensors result;
    for (int i = 0; i < steps; ++i) {
      const Results results = session.run(program, batch(i));
      for (const auto& [name, value] : results) result.emplace_back(name, value.clone());
    }
    session.gather_state();
    for (const Variable& v : program.variables()) {
      if (v.info().kind != VariableKind::key)
        result.emplace_back(v.name(), session.value(v.name()).clone());
    }
    return result;
  }

  Graph g;
  DType dtype_;
  double dropped = 0;
  Variable table =
      g.variable("net.table", dtype_, {kWords, kColumns}, {.initializer = Initializer::normal(1)});
  Variable places =
      g.variable("net.places", dtype_, {3, kColumns}, {.initializer = Initializer::normal(1)});
  Variable head =
      g.variable("net.head", dtype_, {3 * kColumns, 3}, {.initializer = Initializer::normal(1)});
  Value tokens = g.input("tokens", DType::i32, {"batch", 3});
  Value labels = g.input("labels", DType::i32, {"batch"});
};

Tensor find(const NamedTensors& all, const std::string& name) {
  for (const auto& [other, tensor] : all) {
    if (other == name) return tensor;
  }
  BOOST_FAIL("no " << name);
  return {};
}

// The inputs are rows, and each shard has a different number of them.
struct Uneven {
  Graph g;
  Value x = g.input("x", DType::f32, {"rows", 2});
  Value ids = g.input("ids", DType::i64, {"rows"});
  Program program() {
    const Value all = shard_concat(x);
    return Program("join")
        .output("x", all * 2)
        .output("ids", shard_concat_as(all.size(0), ids))
        .output("total", sum(all))
        .shards({.count = 4});
  }
  static NamedTensors of_shard(int shard) {
    const std::int64_t n = shard == 2 ? 0 : shard + 1;
    return {{"x", normal_tensor({n, 2}, static_cast<std::uint64_t>(shard))},
            {"ids", integer_tensor({n}, static_cast<std::uint64_t>(shard), 0, 99)}};
  }
};

BOOST_AUTO_TEST_SUITE(shard_rows)

BOOST_AUTO_TEST_CASE(rows_of_all_shards_are_concatenated_in_order) {
  const auto joined = [](const World& world) {
    Uneven u;
    Session session(u.g, {.world = world});
    const Results results = session.run_shards(u.program(), Uneven::of_shard);
    return NamedTensors(results.begin(), results.end());
  };
  const NamedTensors found = joined({});
  const Tensor x = find(found, "x"), ids = find(found, "ids");
  BOOST_TEST(x.sizes() == (Sizes{7, 2}));
  std::int64_t row = 0;
  double total = 0;
  for (int shard = 0; shard < 4; ++shard) {
    const NamedTensors own = Uneven::of_shard(shard);
    for (std::int64_t i = 0; i < own[1].second.numel(); ++i, ++row) {
      BOOST_TEST(ids.at(row) == own[1].second.at(i));
      for (std::int64_t k = 0; k < 2; ++k) {
        BOOST_TEST(x.at(2 * row + k) == 2 * own[0].second.at(2 * i + k));
        total += own[0].second.at(2 * i + k);
      }
    }
  }
  BOOST_TEST(std::abs(find(found, "total").at(0) - total) < 1e-5);
  for (const int ranks : {2, 3, 4}) check_same(same_on_ranks(ranks, joined), found);
}

BOOST_AUTO_TEST_CASE(without_shards_the_batch_rows_are_unchanged) {
  Uneven u;
  Program program = u.program();
  program.shards({.count = 1});
  Session session(u.g);
  const NamedTensors fed = Uneven::of_shard(3);
  const Results results = session.run(program, fed);
  BOOST_TEST(expect_same_bits(results["ids"], fed[1].second));
  BOOST_TEST(results["x"].sizes() == (Sizes{4, 2}));
  // The same holds after the program has been printed and parsed.
  const Module read = parse_text(to_text(program));
  Session again(*read.graph);
  const Results same = again.run(read.program, fed);
  for (const auto& [name, value] : results) BOOST_TEST(expect_same_bits(same[name], value), name);
}

BOOST_AUTO_TEST_CASE(sparse_updates_match_a_run_on_the_whole_batch) {
  for (const bool sparse : {true, false}) {
    Words whole(DType::f64);
    const NamedTensors expected =
        whole.after_steps(whole.train(sparse, 1, Reduction::mean), {.threads = 1});
    for (const int shards : {2, 4, 16}) {
      Words cut(DType::f64);
      const NamedTensors found = cut.after_steps(cut.train(sparse, shards), {.threads = 2});
      BOOST_REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        BOOST_TEST_CONTEXT(shards << " shards, " << found[i].first) {
          BOOST_TEST(expect_close(found[i].second, expected[i].second,
                                  {.absolute = 1e-11, .relative = 1e-11}));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_without_readers_do_not_change) {
  Words words;
  const Program program = words.train(true, 4);
  Session session(words.g, {.seed = 5});
  const Tensor before = session.value("net.table").clone();
  session.run(program, words.batch(0));
  const Tensor after = session.value("net.table");
  std::vector<bool> read(static_cast<std::size_t>(kWords));
  const Tensor tokens = words.batch(0)[0].second;
  for (std::int64_t i = 0; i < tokens.numel(); ++i)
    read[static_cast<std::size_t>(tokens.at(i))] = true;
  for (std::int64_t row = 0; row < kWords; ++row) {
    bool same = true;
    for (std::int64_t k = 0; k < kColumns; ++k)
      same = same && before.at(row * kColumns + k) == after.at(row * kColumns + k);
    BOOST_TEST(same != read[static_cast<std::size_t>(row)], "row " << row);
  }
}

BOOST_AUTO_TEST_CASE(concatenating_rows_computes_each_shard_once) {
  Words words;
  const Program program = words.train(true, 4);
  BOOST_TEST(split_shards(program).stages.size() == 1u);
}

BOOST_AUTO_TEST_CASE(sparse_updates_on_any_number_of_ranks_match_one_rank) {
  using enum GradientSums;
  const auto trained = [](const World& world, int threads, GradientSums gradients = whole) {
    Words words;
    words.dropped = 0.3;
    return words.after_steps(words.train(true, 8),
                             {.threads = threads, .world = world, .gradients = gradients});
  };
  const NamedTensors expected = trained({}, 1);
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const int threads : {1, 2}) {
      BOOST_TEST_CONTEXT(ranks << " ranks with " << threads << " threads") {
        check_same(same_on_ranks(ranks, [&](const World& w) { return trained(w, threads); }),
                   expected);
      }
    }
  }
  for (const int ranks : {2, 4, 8})
    check_same(same_on_ranks(ranks, [&](const World& w) { return trained(w, 1, owned); }),
               expected);
}

BOOST_AUTO_TEST_CASE(sparse_training_can_be_resumed_from_a_file) {
  const TemporaryFolder folder;
  Words words;
  const Program program = words.train(true, 4);
  const NamedTensors expected = words.after_steps(program, {}, 3);
  Session session(words.g, {.seed = 5});
  session.run(program, words.batch(0));
  save_checkpoint(folder / "net.weft", session, {program});
  const Checkpoint read = load_checkpoint(folder / "net.weft");
  Session again(read.graph(), read.store());
  for (int i = 1; i < 3; ++i) again.run(read.program("train"), words.batch(i));
  for (const Variable& v : program.variables()) {
    if (v.info().kind != VariableKind::key)
      BOOST_TEST(expect_same_bits(again.value(v.name()), find(expected, v.name())), v.name());
  }
}

BOOST_AUTO_TEST_CASE(errors_name_values_that_cannot_be_concatenated) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", "time"});
  const Variable w = g.variable("w", DType::f32, {3});
  check_error<ShapeError>([&] { shard_concat(sum(x)); }, {"a scalar has no rows", "rows_test.cc"});
  const auto run = [&](Program program, const NamedTensors& fed) {
    Session session(g);
    session.run(program.shards({.count = 2}), fed);
  };
  const Tensor fed = Tensor::zeros(DType::f32, {4, 3});
  check_error<GraphError>(
      [&] {
        run(Program("p").output("x", shard_concat(x)), {{"x", fed}});
      },
      {"shard_concat of f32[batch, time], whose rows may differ in size by shard", "rows_test.cc"});
  const Value y = g.input("y", DType::f32, {"batch", 3});
  check_error<GraphError>(
      [&] {
        run(Program("p").output("y", shard_sum(sum(y) * sum(shard_concat(y)))), {{"y", fed}});
      },
      {"a value that is computed per shard depends on the result of shard_concat", "rows_test.cc"});
  check_error<GradientError>(
      [&] { gradient(sum(shard_concat(y * w.value())), w); },
      {"gradients cannot flow through shard_concat", "shard_mean", "rows_test.cc"});
  // A constant does not depend on the shard.
  const Value of_batch = g.apply("shard_concat", {y}, {{"rows", g.dim("batch")}}, {}).output(0);
  check_error<GraphError>(
      [&] {
        run(Program("p").output("y", of_batch), {{"y", fed}});
      },
      {"the number of rows of a shard_concat is batch; it must be a symbol that is not a "
       "size of an input or a variable"});
}

BOOST_AUTO_TEST_CASE(plan_part_texts_list_the_communication) {
  Words words;
  const Program program = words.train(true, 8);
  const std::string alone = parts_text(program);
  BOOST_TEST(alone.find("rank 0 of 1 computes 0 to 7") != std::string::npos, alone);
  BOOST_TEST(alone.find("all_gather") == std::string::npos, alone);
  const std::string text = parts_text(program, {.ranks = 4, .rank = 2});
  for (const char* part :
       {"# program train in 8 shards along batch: rank 2 of 4 computes 4 to 5\n",
        "\n# stage 0, for each of these shards\n", "# reduce_scatter shards.sum.",
        "# all_gather shards.rows.0: f32[3*batch, 4]\n",
        "# all_gather shards.rows.1: i64[3*batch]\n", "\n# then the step\n",
        "# all_gather net.head\n", "# rank 2 owns "})
    BOOST_TEST(text.find(part) != std::string::npos, part << " is missing in\n" << text);
  // Each part can be parsed again.
  std::string part = text.substr(text.find("weft text"));
  part = part.substr(0, part.find("\n# "));
  BOOST_TEST(parse_text(part).program.outputs().size() > 2u);
  check_error<ArgumentError>([&] { parts_text(words.train(true, 1)); },
                             {"program 'train' has no shards"});
  check_error<ArgumentError>([&] { parts_text(program, {.ranks = 16}); },
                             {"16 ranks are too many for 8 shards"});
  check_error<ArgumentError>([&] { parts_text(program, {.ranks = 2, .rank = 2}); },
                             {"rank is 2, but ranks are 0 to 1"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
