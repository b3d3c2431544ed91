// Gradients of single ops are compared with finite differences in double, and run in a Session
// under many conditions.
#include <boost/test/unit_test.hpp>

#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/record_cases.h"

namespace weft::testing {
namespace {

bool is_differentiable(const OpRecord& op) { return op.gradient != Gradient::none; }

BOOST_AUTO_TEST_SUITE(record_gradients)

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
  fuzz_records({.cases_per_op = 24,
                .vary =
                    [](Draw&) {
                      return VaryOptions{.values = Values::spread,
                                         .elements = 256,
                                         .flops = 1e4,
                                         .illegal_one_in = 0,
                                         .extreme_one_in = 0};
                    },
                .ops = is_differentiable},
               [](const OpRecord& op, const OpSample& sample, Draw& draw) {
                 return check_differences(builtin_ops(), op, sample, draw);
               });
}

BOOST_AUTO_TEST_CASE(gradients_are_the_same_in_all_run_variants) {
  fuzz_records({.cases_per_op = 45, .ops = is_differentiable},
               [](const OpRecord& op, const OpSample& sample, Draw& draw) {
                 return check_gradient_run_variants(builtin_ops(), op, sample, draw);
               });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
