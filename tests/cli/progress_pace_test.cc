#include "weft/models/program/terminal/progress_pace.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace weft::program {
BOOST_AUTO_TEST_SUITE(progress_pace)
namespace {

/// Returns the steps from `first` to `steps` at which a line is printed if every step takes
/// `seconds`.
std::vector<std::int64_t> lines(std::int64_t first, std::int64_t steps, double seconds) {
  ProgressPace pace;
  std::vector<std::int64_t> out;
  double time = 1e6;
  for (std::int64_t step = first; step <= steps; ++step) {
    time += seconds;
    if (pace.due(step, steps, time)) out.push_back(step);
  }
  return out;
}

BOOST_AUTO_TEST_CASE(a_run_prints_about_twenty_lines_and_at_least_one_per_minute) {
  const std::vector<std::int64_t> quick = lines(1, 2000, 0.01);
  BOOST_TEST(quick.size() == 21U);
  BOOST_TEST(quick[0] == 1);
  BOOST_TEST(quick[1] == 100);
  BOOST_TEST(quick.back() == 2000);
  // In a ten-hour run, a line is printed about once a minute.
  const std::vector<std::int64_t> slow = lines(1, 5000, 7.2);
  for (std::size_t i = 1; i < slow.size(); ++i)
    BOOST_TEST(static_cast<double>(slow[i] - slow[i - 1]) * 7.2 < 60 + 7.2);
  BOOST_TEST(slow.size() > 500U);
  BOOST_TEST(slow.size() < 650U);
  // If a step takes two minutes, every step prints a line. A resumed run prints its first step
  // immediately.
  BOOST_TEST(lines(1, 100, 120).size() == 100U);
  BOOST_TEST((lines(47, 100, 0.01) ==
              std::vector<std::int64_t>{47, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100}));
  BOOST_TEST((lines(1, 3, 0.01) == std::vector<std::int64_t>{1, 2, 3}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
