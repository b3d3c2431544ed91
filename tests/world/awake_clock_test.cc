// Time in which a process could not act does not count.
#include "weft/core/world/awake_clock.h"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace weft {
namespace {

using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(awake_clock_test)

BOOST_AUTO_TEST_CASE(time_passes_while_somebody_looks) {
  const AwakeClock::Steady::time_point start{};
  AwakeClock clock(milliseconds(100), start);
  for (int i = 1; i <= 30; ++i) clock.tick(start + milliseconds(100 * i));
  BOOST_TEST((clock.now() - start == milliseconds(3000)));
}

BOOST_AUTO_TEST_CASE(a_process_that_was_stopped_has_missed_little) {
  const AwakeClock::Steady::time_point start{};
  AwakeClock clock(milliseconds(100), start);
  clock.tick(start + milliseconds(50));
  clock.tick(start + milliseconds(60'000));
  BOOST_TEST((clock.now() - start == milliseconds(150)));
  clock.tick(start + milliseconds(60'050));
  BOOST_TEST((clock.now() - start == milliseconds(200)), "time goes on as before");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
