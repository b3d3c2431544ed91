// Tests of single kernels. They must access only their operands and scratch memory, must not depend
// on the order of chunks or on alignment, and must give the same bits in any memory.
#include <boost/test/unit_test.hpp>

#include "weft/testing/simd_targets.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/op_execution.h"
#include "weft/tests/support/cases/record_cases.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(record_kernels)

BOOST_AUTO_TEST_CASE(kernels_stay_inside_their_memory_and_are_deterministic) {
  fuzz_records({.cases_per_op = 180,
                .vary =
                    [](Draw& draw) {
                      VaryOptions options;
                      if (draw.one_in(40)) options.elements = 1 << 19, options.flops = 5e7;
                      return options;
                    },
                .ops = has_kernel},
               check_kernel);
}

// Dispatch is fixed to one target at a time for all cases, because changing it is slow.
BOOST_AUTO_TEST_CASE(kernels_of_every_simd_target_stay_inside_their_memory) {
  for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      fuzz_records({.cases_per_op = 18, .ops = has_kernel}, check_kernel);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
