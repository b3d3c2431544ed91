// The seed determines results bit-exactly. Results do not depend on the number of workers or the
// order of chunks, and are identical for repeated runs and for runs resumed from a checkpoint.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include "weft/core/random.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/training/training_step.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/support/more_threads.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(determinism)
namespace {

// A model that is large enough for matrix products and reductions to be split into many chunks.
struct Run {
  Graph graph;
  Program train{"train"};

  explicit Run(Precision precision = Precision::highest) {
    const TrainSettings settings{.steps = 20, .batch = 8, .warmup = 2, .precision = precision};
    const Programs programs = build_gpt_programs(graph,
                                                 {.vocab = 96,
                                                  .layers = 2,
                                                  .heads = 4,
                                                  .width = 64,
                                                  .context = 48,
                                                  .embedding_dropout = 0.1,
                                                  .attention_dropout = 0.1,
                                                  .residual_dropout = 0.1},
                                                 settings);
    add_training_step(train, programs.at("train").outputs().front().second, settings);
  }
};

NamedTensors batch_of(std::int64_t step) {
  const RandomStream stream{.seed = 5, .step = static_cast<std::uint32_t>(step)};
  Tensor tokens = Tensor::empty(DType::i32, {8, 48}), targets = Tensor::empty(DType::i32, {8, 48});
  for (std::int64_t i = 0; i < tokens.numel(); ++i) {
    tokens.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(stream.word(static_cast<std::uint64_t>(i)) % 96);
    targets.mutable_data<std::int32_t>()[i] =
        static_cast<std::int32_t>(stream.word(static_cast<std::uint64_t>(i) + 1) % 96);
  }
  return {{"tokens", tokens}, {"targets", targets}};
}

void train(Session& session, const Program& program, std::int64_t from, std::int64_t to,
           std::vector<Tensor>& losses) {
  for (std::int64_t step = from; step < to; ++step) {
    losses.push_back(session.run(program, batch_of(step))["loss"].clone());
  }
}

std::vector<Tensor> all_state(Session& session) {
  std::vector<Tensor> state;
  for (const Variable& v : session.graph().variables()) {
    if (v.info().kind != VariableKind::cache) state.push_back(session.value(v.name()));
  }
  return state;
}

std::vector<Tensor> trained_with(const SessionOptions& options,
                                 Workers::Statistics* statistics = nullptr) {
  Run run(options.precision);
  Session session(run.graph, options);
  std::vector<Tensor> result;
  train(session, run.train, 0, 4, result);
  if (statistics != nullptr) *statistics = session.worker_statistics();
  for (Tensor& t : all_state(session)) result.push_back(std::move(t));
  return result;
}

void check_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    BOOST_TEST(bitwise_equal(a[i], b[i]), "tensor " << i << " differs");
  }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_workers_or_the_order_of_chunks) {
  const testing::MoreThreads more;
  const auto expected = trained_with({.seed = 3, .threads = 1});
  BOOST_TEST_CONTEXT("a second run") {
    check_same_bits(trained_with({.seed = 3, .threads = 1}), expected);
  }
  for (const int threads : {2, 5}) {
    BOOST_TEST_CONTEXT(threads << " workers") {
      Workers::Statistics statistics;
      check_same_bits(trained_with({.seed = 3, .threads = threads}, &statistics), expected);
      BOOST_WARN_MESSAGE(statistics.distinct_slots >= 2,
                         "only one thread ran chunks; the machine may be busy");
      BOOST_TEST(statistics.parallel_chunks > 100);
    }
  }
  for (const std::uint64_t shuffle : {1u, 2u}) {
    BOOST_TEST_CONTEXT("shuffled chunks " << shuffle) {
      check_same_bits(trained_with({.seed = 3, .threads = 3, .shuffle_seed = shuffle}), expected);
    }
  }
  BOOST_TEST_CONTEXT("poisoned memory, verified plans") {
    check_same_bits(trained_with({.seed = 3, .threads = 2, .verify = true, .poison = true}),
                    expected);
  }
  // A different seed gives a different result.
  BOOST_TEST(!bitwise_equal(trained_with({.seed = 4, .threads = 2})[0], expected[0]));
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_memory_budget) {
  const testing::MoreThreads more;
  const auto expected = trained_with({.seed = 3, .threads = 1});
  // Poisoning adds guard regions around buffers. The budgets include these regions, so they suffice
  // for runs with and without poisoning.
  const auto plan_with = [](std::size_t budget) {
    Run run;
    Session session(run.graph, {.memory_budget = budget, .poison = true});
    return session.plan(run.train, {{"tokens", {8, 48}}, {"targets", {8, 48}}});
  };
  const std::size_t whole = plan_with(0)->arena_bytes;
  std::size_t again = 0;
  for (const double part : {0.95, 0.85, 0.75}) {
    const auto budget = static_cast<std::size_t>(part * static_cast<double>(whole));
    const MemoryReport memory = plan_with(budget)->memory();
    BOOST_TEST_CONTEXT(memory.text(0)) {
      BOOST_TEST(memory.arena <= budget);
      BOOST_TEST(memory.recomputed_bytes > again);  // bytes, because data movement has no FLOPs
      again = memory.recomputed_bytes;
      for (const int threads : {1, 2, 5}) {
        check_same_bits(trained_with({.seed = 3, .threads = threads, .memory_budget = budget}),
                        expected);
      }
      check_same_bits(
          trained_with(
              {.seed = 3, .threads = 2, .memory_budget = budget, .verify = true, .poison = true}),
          expected);
    }
  }
}

// Runs on every matrix unit that this machine supports. Matrix products of all shapes are forced
// onto that unit.
BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_workers_at_any_precision) {
  const testing::MoreThreads more;
  using kernels::Bf16Unit;
  std::vector<std::vector<Tensor>> seen;
  for (const Bf16Unit unit : {Bf16Unit::emulated_amx, Bf16Unit::amx, Bf16Unit::dot}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    const kernels::ForcedBf16Unit forced(unit);
    for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
      BOOST_TEST_CONTEXT(kernels::bf16_unit_name(unit) << " at " << precision_name(precision)) {
        const auto expected = trained_with({.seed = 3, .threads = 1, .precision = precision});
        Workers::Statistics statistics;
        check_same_bits(
            trained_with({.seed = 3, .threads = 5, .precision = precision, .shuffle_seed = 1},
                         &statistics),
            expected);
        BOOST_WARN_MESSAGE(statistics.distinct_slots >= 2,
                           "only one thread ran chunks; the machine may be busy");
        BOOST_TEST(statistics.parallel_chunks > 100);
        seen.push_back(expected);
      }
    }
  }
  // Results differ between precisions, which shows that the kernels used the requested precision.
  BOOST_TEST(!bitwise_equal(seen[0][3], seen[1][3]));
  BOOST_TEST(!bitwise_equal(seen[1][3], seen[2][3]));
}

BOOST_AUTO_TEST_CASE(a_run_resumed_from_a_file_is_bit_exact) {
  const auto path = std::filesystem::temp_directory_path() / "weft_determinism_test.weft";
  Run run;
  Session straight(run.graph, {.seed = 3, .threads = 2});
  std::vector<Tensor> losses;
  train(straight, run.train, 0, 3, losses);
  save_checkpoint(path.string(), straight, {run.train});
  train(straight, run.train, 3, 6, losses);

  // Resume from the file alone, without the code that built the model, as another process would.
  Checkpoint file = load_checkpoint(path.string());
  Session resumed(file.graph(), file.store(), {.seed = 99, .threads = 1});
  std::vector<Tensor> resumed_losses(losses.begin(), losses.begin() + 3);
  train(resumed, file.program("train"), 3, 6, resumed_losses);
  check_same_bits(resumed_losses, losses);
  for (const Variable& v : file.graph().variables()) {
    if (v.info().kind == VariableKind::cache) continue;  // caches are neither saved nor used here
    BOOST_TEST(bitwise_equal(resumed.value(v.name()), straight.value(v.name())), v.name());
  }
  std::filesystem::remove(path);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
