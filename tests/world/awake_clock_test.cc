// A clock that does not count the time for which the process was suspended.
#include "weft/core/world/awake_clock.h"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace weft {
namespace {

using std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(awake_clock_test)

BOOST_AUTO_TEST_CASE(time_advances_while_the_clock_is_polled) {
  const AwakeClock::Steady::time_point start{};
  AwakeClock clock(milliseconds(100), start);
  for (int i = 1; i <= 30; ++i) clock.tick(start + milliseconds(100 * i));
  BOOST_TEST((clock.now() - start == milliseconds(3000)));
}

BOOST_AUTO_TEST_CASE(time_while_the_process_is_stopped_does_not_count) {
  const AwakeClock::Steady::time_point start{};
  AwakeClock clock(milliseconds(100), start);
  clock.tick(start + milliseconds(50));
  clock.tick(start + milliseconds(60'000));
  BOOST_TEST((clock.now() - start == milliseconds(150)));
  clock.tick(start + milliseconds(60'050));
  BOOST_TEST((clock.now() - start == milliseconds(200)), "time advances normally again");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
