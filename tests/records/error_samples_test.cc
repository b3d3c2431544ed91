// Runs error samples in a Session. If symbolic sizes hide an error while the graph is built, the
// same error must be thrown as soon as the sizes are known.
#include <boost/test/unit_test.hpp>

#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/crash_guard.h"
#include "weft/tests/support/cases/session_case.h"

namespace weft::testing {
namespace {

// Replaces the symbols in the sample's types by the number 4.
OpSample with_numbers(const OpErrorSample& sample) {
  const auto number = [](const SymbolPtr&) -> std::optional<Dim> { return Dim(4); };
  OpSample result;
  for (const ValueType& type : sample.inputs) {
    result.inputs.push_back(Tensor::zeros(type.dtype, type.shape.substitute(number).constant()));
  }
  result.attributes = sample.attributes.substitute(number);
  return result;
}

std::string check(const OpRecord& op, const OpSample& sample, Equalities equalities, bool some) {
  const RunOutcome expected =
      outcome_of([&] { return evaluate_op(op, sample.inputs, sample.attributes); });
  if (!expected.failed()) return "";  // the error only occurs with symbols
  Draw draw(7);
  const auto symbolic =
      symbolise(op, sample, equalities, [&](std::int64_t) { return some && draw.one_in(2); });
  if (!symbolic) return "";  // the error also occurs with symbols
  const RunOutcome actual = outcome_of([&] {
    const SessionCase built(op, sample, {.symbolic = &*symbolic});
    const RunOutcome outcome = built.run({.threads = 1, .verify = true}, Guard::after);
    if (outcome.failed()) outcome.rethrow();
    return outcome.results;
  });
  if (symbolic->contradicted) {
    return actual.error_kind == expected.error_kind
               ? ""
               : "returns " + actual.str() + "\n  instead of " + expected.str();
  }
  return difference(actual, expected, Bits::same);
}

BOOST_AUTO_TEST_SUITE(record_error_samples)

BOOST_AUTO_TEST_CASE(error_samples_cause_the_same_error_in_a_session) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->error_samples == nullptr) continue;
    for (const OpErrorSample& error : op->error_samples()) {
      BOOST_TEST_CONTEXT("op " << op->name << ": " << error.message) {
        const auto crash = crash_of(op->name + ": " + error.message, 30, [&] {
          const OpSample sample = with_numbers(error);
          for (const Equalities e : {Equalities::solve, Equalities::require}) {
            for (const bool some : {false, true}) {
              const std::string wrong = check(*op, sample, e, some);
              BOOST_TEST(wrong == "", wrong);
            }
          }
        });
        if (crash) BOOST_ERROR(*crash);
      }
    }
  }
}

// Errors that symbols do not hide are detected while the graph is built, with the same message.
BOOST_AUTO_TEST_CASE(error_samples_cause_the_same_error_for_a_single_op_and_in_a_graph) {
  for (const OpRecord* op : builtin_ops()->all()) {
    if (op->error_samples == nullptr) continue;
    for (const OpErrorSample& error : op->error_samples()) {
      BOOST_TEST_CONTEXT("op " << op->name << ": " << error.message) {
        const OpSample sample = with_numbers(error);
        const RunOutcome expected =
            outcome_of([&] { return evaluate_op(*op, sample.inputs, sample.attributes); });
        const RunOutcome actual = outcome_of([&] {
          const SessionCase built(*op, sample);
          const RunOutcome outcome = built.run({.threads = 1}, Guard::after);
          if (outcome.failed()) outcome.rethrow();
          return outcome.results;
        });
        const std::string wrong = difference(actual, expected, Bits::same);
        BOOST_TEST(wrong == "", wrong);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
