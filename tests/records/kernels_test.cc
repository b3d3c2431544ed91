// Kernels alone: they touch nothing but their operands and scratch, count on no order of chunks and
// on no alignment, and give the same bits whatever they are given to work in.
#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/testing/simd_targets.h"
#include "weft/tests/kit/op_execution.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/records/outcome.h"

namespace weft::testing {
namespace {

constexpr std::size_t kMaxScratch = std::size_t{1} << 32;

// Nonsense in what the planner and the executor count on.
std::string wrong_numbers(const OpRecord& op, const OpExecution& run) {
  const Kernel& kernel = run.kernel();
  if (kernel.shared_scratch > kMaxScratch || kernel.slot_scratch > kMaxScratch) {
    return fmt::format("scratch of {} and {} bytes", kernel.shared_scratch, kernel.slot_scratch);
  }
  for (const Phase& phase : kernel.phases) {
    if (phase.chunks < 0) return fmt::format("{} chunks", phase.chunks);
    if (!(phase.cost_ns >= 0) || !std::isfinite(phase.cost_ns)) {
      return fmt::format("a phase of {} ns", phase.cost_ns);
    }
  }
  if (op.cost == nullptr) return "";
  const Cost cost = op.cost(run.request());
  const auto sane = [](double x) { return x >= 0 && std::isfinite(x); };
  return sane(cost.flops) && sane(cost.bytes)
             ? ""
             : fmt::format("a cost of {} FLOPs and {} bytes", cost.flops, cost.bytes);
}

// Pairs {output, input} that may share memory in this case.
std::vector<std::pair<int, int>> possible_inplace(const OpRecord& op, const OpSample& sample,
                                                  const std::vector<Tensor>& results) {
  std::vector<std::pair<int, int>> pairs;
  for (const auto& [output, input] : op.inplace) {
    const auto out = static_cast<std::size_t>(output), in = static_cast<std::size_t>(input);
    if (out >= results.size() || in >= sample.inputs.size()) continue;
    const Tensor& t = sample.inputs[in];
    if (t.defined() && t.sizes() == results[out].sizes() &&
        dtype_size(t.dtype()) == dtype_size(results[out].dtype())) {
      pairs.emplace_back(output, input);
    }
  }
  return pairs;
}

std::string compare_run(const OpRecord& op, const OpSample& sample,
                        const std::vector<Tensor>& expected, const OpExecutionOptions& options) {
  OpExecution run(op, sample, expected, options);
  const std::string numbers = wrong_numbers(op, run);
  if (!numbers.empty()) return numbers;
  run.execute();
  if (!run.scratch_intact()) return "writes beside the scratch";
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (options.wanted && !options.wanted(o)) continue;
    const std::string wrong = difference(run.results()[o], expected[o], Bits::same);
    if (!wrong.empty()) return fmt::format("output {}: {}", o, wrong);
  }
  return "";
}

std::string check_guarded(const OpRecord& op, const OpSample& sample, Draw& draw) {
  Outcome expected = outcome_of([&] { return evaluate_op(op, sample.inputs, sample.attributes); });
  if (expected.failed()) return "";
  const Precision precision = draw.pick(
      std::array{Precision::highest, Precision::highest, Precision::high, Precision::medium});
  if (precision != Precision::highest) {
    OpExecution run(op, sample, expected.results, {.precision = precision});
    run.execute();
    expected.results = run.results();
  }
  for (const Guard guard : {Guard::behind, Guard::before}) {
    OpExecutionOptions options{.guard = guard, .shuffle_seed = draw.bits(), .precision = precision};
    const std::string side = guard == Guard::behind ? "behind" : "before";
    std::string wrong = compare_run(op, sample, expected.results, options);
    if (!wrong.empty()) return fmt::format("with a guard {} all memory: {}", side, wrong);
    if (expected.results.size() > 1) {
      const auto which = static_cast<std::size_t>(draw.below(std::ssize(expected.results)));
      const bool alone = draw.one_in(2);
      options.wanted = [=](std::size_t o) { return (o == which) == alone; };
      wrong = compare_run(op, sample, expected.results, options);
      if (!wrong.empty()) {
        return fmt::format("with {} output {}: {}", alone ? "only" : "all but", which, wrong);
      }
      options.wanted = {};
    }
    for (const auto& pair : possible_inplace(op, sample, expected.results)) {
      options.inplace = pair;
      wrong = compare_run(op, sample, expected.results, options);
      if (!wrong.empty()) {
        return fmt::format("output {} over input {}: {}", pair.first, pair.second, wrong);
      }
    }
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(record_kernels)

BOOST_AUTO_TEST_CASE(kernels_stay_inside_their_memory_and_keep_their_bits) {
  fuzz_records({.cases_per_op = 180,
                .vary =
                    [](Draw& draw) {
                      VaryOptions options;
                      if (draw.one_in(40)) options.elements = 1 << 19, options.flops = 5e7;
                      return options;
                    },
                .ops = has_kernel},
               check_guarded);
}

// Dispatch is fixed to one target after the other for all cases, since that is slow to change.
BOOST_AUTO_TEST_CASE(kernels_of_every_simd_target_stay_inside_their_memory) {
  for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      fuzz_records({.cases_per_op = 18, .ops = has_kernel}, check_guarded);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
