// Compares tensors of any dtype as doubles.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::testing {

inline std::vector<double> elements_of(const Tensor& t) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < t.numel(); ++i) out.push_back(t.at(i));
  return out;
}

/// Returns the largest absolute difference between corresponding elements. Both tensors must have
/// the same sizes.
inline double max_difference(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.sizes() == b.sizes());
  double worst = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  }
  return worst;
}

}  // namespace weft::testing
