// Timing with medians of repeated measurements, because the machine may also run other programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace weft::zoo {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns the median, or the upper median for an even number of values. The median is robust
/// against measurements that were slowed down by other programs. `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the median duration of 41 calls in microseconds.
template <class F>
double median_microseconds(F&& call) {
  std::vector<double> seconds;
  for (int i = 0; i < 41; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    seconds.push_back(seconds_since(begin));
  }
  return median(std::move(seconds)) * 1e6;
}

}  // namespace weft::zoo
