// Single ops in a Session. For any operands and execution options, the result must equal the result
// of the op alone bit for bit, or the error must be the same.
#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/record_cases.h"
#include "weft/tests/support/cases/run_variants.h"
#include "weft/tests/support/cases/session_case.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

RunOutcome alone(const OpRecord& op, const OpSample& sample) {
  return outcome_of([&] { return evaluate_op(op, sample.inputs, sample.attributes); });
}

// Builds and runs a graph. Errors during building count as errors of the run.
RunOutcome in_session(const OpRecord& op, const OpSample& sample, const Surroundings& surroundings,
                      const SessionOptions& options, Guard guard) {
  return outcome_of([&] {
    const SessionCase built(op, sample, surroundings);
    const RunOutcome outcome = built.run(options, guard);
    if (outcome.failed()) outcome.rethrow();
    return outcome.results;
  });
}

std::string check_static(const OpRecord& op, const OpSample& sample, Draw& draw) {
  const RunOutcome expected = alone(op, sample);
  const Surroundings surroundings{.roles = draw_roles(sample, draw)};
  const Guard guard = draw.pick(std::array{Guard::after, Guard::before});
  SessionOptions options{.threads = 1, .passes = false, .verify = true};
  std::string wrong =
      difference(in_session(op, sample, surroundings, options, guard), expected, Bits::same);
  if (!wrong.empty()) return "in a Session without passes: " + wrong;
  options = {.threads = 1,
             .passes = true,
             .prepack = draw.one_in(2),
             .verify = true,
             .poison = draw.one_in(2),
             .shuffle_seed = draw.bits() | 1};
  wrong = difference(in_session(op, sample, surroundings, options, guard), expected,
                     Bits::same_but_nans);
  if (!wrong.empty()) return "in a Session with passes: " + wrong;
  return "";
}

std::string check_symbolic(const OpRecord& op, const OpSample& sample, Draw& draw) {
  const Equalities equalities = draw.pick(std::array{Equalities::solve, Equalities::require});
  const bool legal = is_legal(op, sample);
  std::optional<SymbolicSample> symbolic;
  for (int kept = 0; kept < 6 && (!symbolic || (legal && symbolic->contradicted)); ++kept) {
    symbolic = symbolise(op, sample, equalities, [&](std::int64_t size) {
      return kept > 0 && (size == 1 || (kept > 1 && draw.below(6) < kept));
    });
  }
  if (!symbolic || symbolic->symbols.empty()) return "";
  const RunOutcome expected = alone(op, sample);
  const Surroundings surroundings{.symbolic = &*symbolic};
  const Guard guard = draw.pick(std::array{Guard::after, Guard::before});
  const SessionOptions options{.threads = 1,
                               .passes = draw.one_in(2),
                               .verify = true,
                               .poison = draw.one_in(2),
                               .shuffle_seed = draw.bits() | 1};
  const RunOutcome actual = in_session(op, sample, surroundings, options, guard);
  if (symbolic->contradicted) {
    return legal || actual.failed() ? "" : "with symbolic sizes there is no error";
  }
  const std::string wrong =
      difference(actual, expected, options.passes ? Bits::same_but_nans : Bits::same);
  return wrong.empty() ? "" : "with symbolic sizes: " + wrong;
}

// Options for cases that are large enough for several chunks.
VaryOptions large(Draw& draw) {
  VaryOptions options;
  if (!draw.one_in(3)) options.elements = 1 << 19, options.flops = 5e7;
  return options;
}

std::string check_threads(const OpRecord& op, const OpSample& sample, Draw& draw) {
  const Surroundings surroundings{.roles = draw_roles(sample, draw),
                                  .neighbours_seed = draw.one_in(2) ? draw.bits() | 1 : 0,
                                  .gradient_seed = draw.one_in(2) ? draw.bits() | 1 : 0};
  try {
    const SessionCase built(op, sample, surroundings);
    return built.empty() ? "" : compare_threads(built, draw);
  } catch (const Error&) {
    return "";  // invalid case
  }
}

BOOST_AUTO_TEST_SUITE(record_sessions)

BOOST_AUTO_TEST_CASE(a_session_gives_the_same_result_as_the_op_alone) {
  fuzz_records({.cases_per_op = 120}, check_static);
}

BOOST_AUTO_TEST_CASE(symbolic_sizes_do_not_change_results) {
  fuzz_records({.cases_per_op = 120}, check_symbolic);
}

BOOST_AUTO_TEST_CASE(passes_and_run_variants_do_not_change_results_among_other_ops) {
  fuzz_records({.cases_per_op = 60}, [](const OpRecord& op, const OpSample& sample, Draw& draw) {
    return check_neighbours(builtin_ops(), op, sample, draw);
  });
}

BOOST_AUTO_TEST_CASE(one_two_three_and_five_threads_give_the_same_bits) {
  const testing::MoreThreads more;
  fuzz_records({.cases_per_op = 12, .vary = large}, check_threads);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
