#include "weft/tests/support/cases/run_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft::testing {
namespace {

constexpr std::array kThreads = {1, 1, 2, 3, 5};

class Comparison {
 public:
  Comparison(const SessionCase& built, Draw& draw)
      : built_(built),
        draw_(draw),
        guard_(draw.pick(std::array{Guard::after, Guard::before})),
        precision_(draw.pick(std::array{Precision::highest, Precision::highest, Precision::high,
                                        Precision::medium})),
        expected_(built.run(options({.threads = 1, .passes = false, .verify = true}), guard_)) {}

  std::string run() {
    if (expected_.error_kind == "StateError") return "";  // not enough memory
    const std::string wrong = any_difference();
    return wrong.empty() || precision_ == Precision::highest
               ? wrong
               : fmt::format("at precision {}, {}", precision_name(precision_), wrong);
  }

 private:
  std::string any_difference() {
    std::string wrong =
        check("poisoned and shuffled, without passes",
              {.threads = 1, .passes = false, .verify = true, .poison = true, .shuffle_seed = 7});
    if (wrong.empty()) {
      wrong = check("with passes", {.threads = draw_.pick(kThreads),
                                    .prepack = draw_.one_in(2),
                                    .profile = draw_.one_in(8),
                                    .verify = true,
                                    .poison = draw_.one_in(2),
                                    .shuffle_seed = draw_.bits() | 1});
    }
    if (wrong.empty() && draw_.one_in(3)) {
      wrong = check("after other runs of its Session, with memory of the Session",
                    {.threads = draw_.pick(kThreads),
                     .plan_cache = draw_.one_in(3) ? 1 : 16,
                     .passes = !draw_.one_in(3),
                     .prepack = draw_.one_in(2),
                     .verify = true,
                     .poison = draw_.one_in(2)},
                    {.own_outputs = true, .earlier_runs_seed = draw_.bits() | 1});
    }
    if (wrong.empty() && draw_.one_in(4)) {
      wrong = check("called in an unusual floating-point environment",
                    {.threads = draw_.pick(kThreads), .passes = !draw_.one_in(3)},
                    {.own_outputs = draw_.one_in(2), .odd_floating_point = true});
    }
    if (wrong.empty() && !expected_.failed()) wrong = check_finite();
    if (wrong.empty() && !expected_.failed()) wrong = within_budget();
    return wrong;
  }

  SessionOptions options(SessionOptions options) const {
    options.precision = precision_;
    return options;
  }

  std::string check(const char* way, const SessionOptions& with, RunVariant besides = {}) {
    besides.guard = guard_;
    const RunOutcome actual = built_.run(options(with), besides);
    // If several nodes fail, passes may change which of them fails first.
    if (with.passes && expected_.failed() && actual.error_kind == expected_.error_kind) return "";
    const std::string wrong = difference(actual, expected(with.passes).core(),
                                         with.passes ? Bits::same_but_nans : Bits::same);
    return wrong.empty() ? "" : fmt::format("{}: {}", way, wrong);
  }

  // Checking for non-finite values must have no other effect.
  std::string check_finite() {
    if (!draw_.one_in(6)) return "";
    const bool passes = precision_ != Precision::medium && draw_.one_in(2);
    const RunOutcome actual =
        built_.run(options({.threads = 1, .passes = passes, .check_finite = true}), guard_);
    if (actual.error_kind == "DataError") return "";
    const std::string wrong = difference(actual, expected_, Bits::same_but_nans);
    return wrong.empty() ? "" : "with check_finite: " + wrong;
  }

  std::string within_budget() {
    const std::size_t arena = built_.plan(options({.threads = 1}))->arena_bytes;
    if (arena == 0) return "";
    SessionOptions tight{
        .threads = draw_.pick(kThreads), .verify = true, .poison = draw_.one_in(2)};
    const int percent = draw_.pick(std::array{20, 40, 66, 90});
    tight.memory_budget = std::max<std::size_t>(arena / 100 * static_cast<std::size_t>(percent), 1);
    const RunOutcome actual = built_.run(options(tight), guard_);
    if (actual.error_kind == "ArgumentError") return "";  // no plan fits into this budget
    const std::string wrong = difference(actual, expected(true), Bits::same_but_nans);
    return wrong.empty() ? "" : "under a memory budget: " + wrong;
  }

  // At medium precision, passes may round a value once and use it in several products.
  RunOutcome expected(bool passes) const {
    if (!passes || precision_ != Precision::medium) return expected_;
    return built_.run(options({.threads = 1}), guard_);
  }

  const SessionCase& built_;
  Draw& draw_;
  const Guard guard_;
  const Precision precision_;
  const RunOutcome expected_;
};

}  // namespace

std::string compare_run_variants(const SessionCase& built, Draw& draw) {
  return Comparison(built, draw).run();
}

std::string compare_threads(const SessionCase& built, Draw& draw) {
  SessionOptions options{.threads = 1,
                         .passes = draw.one_in(2),
                         .precision = draw.pick(std::array{Precision::highest, Precision::medium}),
                         .prepack = draw.one_in(2)};
  const RunOutcome expected = built.run(options, Guard::after);
  for (const int threads : {2, 3, 5}) {
    options.threads = threads;
    options.shuffle_seed = draw.one_in(2) ? draw.bits() | 1 : 0;
    const std::string wrong = difference(built.run(options, Guard::after), expected, Bits::same);
    if (!wrong.empty()) return fmt::format("with {} threads: {}", threads, wrong);
  }
  return "";
}

}  // namespace weft::testing
