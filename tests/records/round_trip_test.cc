// Calls of every record are written as text and as files and read again. The result must be the
// same program.
#include <boost/test/unit_test.hpp>

#include "weft/testing/temporary_folder.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/support/cases/record_cases.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(record_round_trips)

BOOST_AUTO_TEST_CASE(text_and_files_preserve_every_call) {
  const TemporaryFolder folder;
  fuzz_records({.cases_per_op = 12,
                .vary = [](Draw&) { return VaryOptions{.elements = 512, .beside_zero = 1 << 20}; }},
               [&](const OpRecord& op, const OpSample& sample, Draw& draw) {
                 return check_round_trip_of(builtin_ops(), op, sample, draw, folder.path());
               });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
