// Compares kernels with the scalar models in tests/reference, on variations of all samples.
#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/testing/simd_targets.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/reference/scalar_ops.h"
#include "weft/tests/support/cases/op_execution.h"
#include "weft/tests/support/cases/run_outcome.h"

namespace weft::testing {
namespace {

bool has_model(const OpRecord& op) { return scalar_models().contains(op.name); }

VaryOptions small(Draw& draw) {
  return {.values = draw.one_in(3) ? Values::special : Values::tame,
          .elements = 4096,
          .flops = 3e5,
          .beside_zero = 70,
          .extreme_one_in = 0};
}

bool all_finite(const OpSample& sample) {
  for (const Tensor& t : sample.inputs) {
    for (std::int64_t i = 0; t.defined() && is_floating(t.dtype()) && i < t.numel(); ++i) {
      if (!std::isfinite(t.at(i))) return false;
    }
  }
  return true;
}

// Intermediate infinities (such as 0 * inf in padding) have no defined result. An element is not
// compared if both results are non-finite, or if only one of them is finite and some operands are
// non-finite.
void keep_known(const Tensor& got, NumberTensor& want, bool all) {
  for (std::int64_t i = 0; i < got.numel(); ++i) {
    Number& n = want.elements[static_cast<std::size_t>(i)];
    const bool here = std::isfinite(got.at(i)), there = std::isfinite(n.value);
    const bool known = all ? here || there : here && there;
    if (std::isnan(n.error) || !known) n = {.error = kAnyValue};
  }
}

std::string check_against_model(const OpRecord& op, const OpSample& sample, Draw& draw) {
  const Precision precision = draw.pick(
      std::array{Precision::highest, Precision::highest, Precision::high, Precision::medium});
  const RunOutcome actual = outcome_of([&] {
    const auto results = evaluate_op(op, sample.inputs, sample.attributes);
    if (precision == Precision::highest || !has_kernel(op)) return results;
    OpExecution run(op, sample, results, {.precision = precision});
    run.execute();
    return run.results();
  });
  std::vector<NumberTensor> expected;
  const RunOutcome model = outcome_of([&] {
    expected = scalar_outputs(op, sample.inputs, sample.attributes, precision);
    return std::vector<Tensor>();
  });
  if (actual.failed() != model.failed()) {
    return "the kernel returns\n    " + actual.str() + "\n  but the scalar model returns\n    " +
           model.str();
  }
  if (actual.failed()) return "";
  const bool all = all_finite(sample);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    if (!op.has(Trait::elementwise)) keep_known(actual.results[o], expected[o], all);
    const auto wrong = difference(actual.results[o], expected[o]);
    if (!wrong) continue;
    return fmt::format("at precision {}, output {}: {}", precision_name(precision), o, *wrong);
  }
  return "";
}

BOOST_AUTO_TEST_SUITE(record_models)

BOOST_AUTO_TEST_CASE(kernels_match_the_scalar_models) {
  fuzz_records({.cases_per_op = 120, .vary = small, .ops = has_model}, check_against_model);
}

BOOST_AUTO_TEST_CASE(kernels_of_every_simd_target_match_the_scalar_models) {
  for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      fuzz_records({.cases_per_op = 18, .vary = small, .ops = has_model}, check_against_model);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
