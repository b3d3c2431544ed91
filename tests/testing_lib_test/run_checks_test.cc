// Tests of the checks that run programs under changed conditions. They accept correct programs and
// detect planted faults.
#include "weft/testing/run_checks.h"

#include <boost/test/unit_test.hpp>

#include <atomic>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/testing/model_checks.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/reference.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

struct TrainingFixture {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 16});
  Value t = g.input("t", DType::f32, {"batch", 4});
  Variable w1 = g.variable("w1", DType::f32, {16, 32}, {.initializer = Initializer::normal(0.3)});
  Variable w2 = g.variable("w2", DType::f32, {32, 4}, {.initializer = Initializer::normal(0.3)});
  Value h = dropout(gelu(matmul(x, w1)), 0.2, g.key("noise"));
  Value y = matmul(h, w2);
  Value loss = mean(square(y - t));
  Program train = Program("train")
                      .output("loss", loss)
                      .update(adamw(loss, g.parameters(), {.lr = 1e-2}).updates);
  Program predict = Program("predict").output("y", matmul(gelu(matmul(x, w1)), w2));
  RunSetup setup{.feeds = {{"x", normal_tensor({64, 16}, 1)}, {"t", normal_tensor({64, 4}, 2)}}};
  RunSetup inference{.feeds = {{"x", normal_tensor({64, 16}, 1)}}};
};

BOOST_AUTO_TEST_SUITE(run_checks)

BOOST_FIXTURE_TEST_CASE(a_correct_training_program_passes, TrainingFixture) {
  const MoreThreads more;
  BOOST_TEST(check_determinism(g, train, setup));
  BOOST_TEST(check_round_trip(g, train, setup));
  BOOST_TEST(check_resume(g, train, setup));
  BOOST_TEST(check_reference(g, train, setup));
}

BOOST_AUTO_TEST_CASE(checks_allow_for_the_precision_in_loops_norms_and_narrow_weights) {
  for (const Precision precision : {Precision::high, Precision::medium}) {
    const auto check = [&](const std::function<Program(Graph&, Value)>& build, bool rows) {
      Graph g;
      Program program = build(g, g.input("x", DType::f32, {"batch", 32}));
      program.precision(precision);
      const RunSetup setup{.feeds = {{"x", normal_tensor({8, 32}, 1)}}};
      BOOST_TEST(check_determinism(g, program, setup));
      if (rows) BOOST_TEST(check_rows(g, program, setup));
    };
    const auto weight = [](Graph& g, DType dtype) {
      return g.variable("w", dtype, {32, 32}, {.initializer = Initializer::normal(0.3)});
    };
    check(
        [&](Graph& g, Value x) {
          const ScanBody body = [](Graph&, const ScanElements& in) {
            return ScanStep{.carries = {tanh(matmul(in.carries[0], in.operands[0]))}};
          };
          const Value h =
              scan(g, {x}, {}, {weight(g, DType::f32)}, body, {.length = AxisSize(4)}).carries[0];
          return Program("t").output("h", h).update(
              adamw(mean(square(h)), g.parameters(), {.lr = 1e-2}));
        },
        false);
    check(
        [&](Graph& g, Value x) {
          const Value h = matmul(x, weight(g, DType::f32));
          const Value loss = mean(square(softmax(h - mean(h, {0}, true), -1) - 0.1));
          return Program("t").output("l", loss).update(adamw(loss, g.parameters(), {.lr = 1e-2}));
        },
        false);
    check(
        [&](Graph& g, Value x) {
          return Program("p").output("y", tanh(matmul(x, weight(g, DType::bf16))));
        },
        true);
  }
}

// The operands of products are rounded to bfloat16, and Adam divides by the size of the gradient,
// so runs without passes differ by far more than in float.
BOOST_FIXTURE_TEST_CASE(checks_allow_for_the_precision_of_products, TrainingFixture) {
  for (const Precision precision : {Precision::high, Precision::medium}) {
    train.precision(precision);
    predict.precision(precision);
    BOOST_TEST(check_determinism(g, train, setup));
    BOOST_TEST(check_determinism(g, predict, inference));
    BOOST_TEST(check_rows(g, predict, inference));
    BOOST_TEST(check_reference(g, train, setup));
  }
}

BOOST_FIXTURE_TEST_CASE(serving_sessions_share_a_store, TrainingFixture) {
  BOOST_TEST(check_serving(g, predict, inference));
  BOOST_TEST(
      check_serving(g, train, setup).message() ==
      "program 'train' updates variable 'optimizer.step': only one Session at a time may run it");
}

// Caches are not saved in files, so state that must survive belongs in a buffer.
BOOST_AUTO_TEST_CASE(unsaved_state_is_detected) {
  for (const VariableKind kind : {VariableKind::cache, VariableKind::buffer}) {
    Graph g;
    const Value x = g.input("x", DType::f32, {4});
    const Variable sum =
        g.variable("sum", DType::f32, {4}, {.kind = kind, .initializer = Initializer::zeros()});
    const Value next = sum + x;
    const Program program = Program("count").output("sum", next).update(sum, next);
    const RunSetup setup{.feeds = {{"x", normal_tensor({4}, 1)}}};
    const Outcome found = check_resume(g, program, setup);
    BOOST_TEST(bool(found) == (kind == VariableKind::buffer));
    if (found) continue;
    BOOST_TEST(found.message().find("resumed from a file (runs are numbered from 3): output 'sum' "
                                    "of run 1: ") == 0,
               found);
  }
}

// Several threads access this element without synchronisation. Relaxed atomics avoid a data race,
// which ThreadSanitizer would report.
float read_relaxed(const float* at) {
  return std::atomic_ref<float>(const_cast<float&>(*at)).load(std::memory_order_relaxed);
}
void write_relaxed(float* at, float value) {
  std::atomic_ref<float>(*at).store(value, std::memory_order_relaxed);
}

// Each chunk reads the last element of the previous chunk, although the record allows the kernel to
// overwrite its operand.
OpRecord neighbours_record() {
  OpRecord r;
  r.name = "chunk_neighbours";
  r.doc = "x plus the element before it.";
  r.inputs = {{"x"}};
  r.inplace = {{0, 0}};
  r.infer = [](const InferContext& c) { return std::vector<ValueType>{c.input(0)}; };
  r.kernel = [](const KernelRequest& q) {
    constexpr std::int64_t kChunks = 8;
    Kernel k;
    k.phases.push_back({.chunks = kChunks,
                        .body =
                            [n = q.outputs[0].numel()](const KernelRun& run, std::int64_t chunk) {
                              const auto [begin, end] = chunk_range(n, kChunks, chunk);
                              const float* const in = run.in<float>(0);
                              for (std::int64_t i = end; i-- > begin;) {
                                write_relaxed(
                                    run.out<float>(0) + i,
                                    read_relaxed(in + i) + (i > 0 ? read_relaxed(in + i - 1) : 0));
                              }
                            },
                        .cost_ns = 1e6});
    return k;
  };
  r.gradient = Gradient::none;
  r.no_gradient_reason = "tests only run it";
  return r;
}

// A kernel that is wrong only in place is correct if its operand is kept; the message says so.
BOOST_AUTO_TEST_CASE(messages_mention_that_keeping_values_hides_the_difference) {
  const MoreThreads more;
  Graph g(with_ops({neighbours_record()}));
  const Value x = g.input("x", DType::f32, {"n"});
  const Program program = Program("p").output("y", cos(apply_op("chunk_neighbours", {sin(x)})));
  const Outcome found = check_determinism(g, program, {.feeds = {{"x", normal_tensor({999}, 1)}}});
  BOOST_TEST(!found);
  BOOST_TEST(found.message().find("no node differs when all values are kept, which hides faults of "
                                  "fused steps and of kernels that overwrite an operand") !=
                 std::string::npos,
             found);
}

// Running statistics are updated with values that the program reads, and every Session has its own
// caches.
BOOST_AUTO_TEST_CASE(updates_attached_to_values_are_checked) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4});
  const auto state = [&](const char* name, VariableKind kind) {
    return g.variable(name, DType::f32, {4}, {.kind = kind, .initializer = Initializer::zeros()});
  };
  const Variable seen = state("seen", VariableKind::buffer),
                 same = state("same", VariableKind::buffer);
  const RunSetup setup{.feeds = {{"x", normal_tensor({4}, 1)}}};
  const Program program =
      Program("p").output("y", with_update(with_update(x, seen, x), same, same * 2));
  BOOST_TEST(check_serving(g, program, setup).message() ==
             "program 'p' updates variable 'seen': only one Session at a time may run it");
  const Outcome found = check_state_changes(g, program, setup);
  BOOST_TEST(found.message().find("a run of 'p' does not change these variables:\n  buffer 'same' "
                                  "(its update does not change its value), ") == 0,
             found);
  BOOST_TEST(found.message().find("run_checks_test.cc:") != std::string::npos, found);
  BOOST_TEST(check_state_changes(g, program, setup, {"same"}));

  const Variable cache = state("cache", VariableKind::cache);
  const Program remembers = Program("q").output("y", cache + x).update(cache, cache + x);
  BOOST_TEST(check_serving(g, remembers, setup));
}

BOOST_AUTO_TEST_CASE(check_reference_passes_and_reports_missing_feeds) {
  Graph g;
  const Value x = g.input("x", DType::f32, {3});
  const Program program = Program("p").output("y", softmax(exp(x)));
  BOOST_TEST(check_reference(g, program, {.feeds = {{"x", normal_tensor({3}, 1)}}}));
  BOOST_TEST(check_reference(g, program).message().find("no tensor is fed for ") == 0);
}

BOOST_AUTO_TEST_CASE(temporary_folders_are_removed_with_their_object) {
  std::string path, other;
  {
    const TemporaryFolder a("kit"), b("kit");
    BOOST_TEST(a.path() != b.path());
    path = a.write("deep/file.txt", "text");
    other = b.path();
    BOOST_TEST(std::filesystem::file_size(path) == 4);
    BOOST_TEST(std::filesystem::exists(other));
  }
  BOOST_TEST(!std::filesystem::exists(path));
  BOOST_TEST(!std::filesystem::exists(other));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
