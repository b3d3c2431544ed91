// Weighted selection among several sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Maps a uniform random number in [0, 1) to the index of a source. The probabilities are
/// proportional to the weights.
class SourceShares {
 public:
  SourceShares() = default;
  /// Requires at least one weight. All weights must be positive.
  explicit SourceShares(const std::vector<double>& weights) {
    double sum = 0, up_to = 0;
    for (const double weight : weights) sum += weight;
    for (const double weight : weights) up_to_.push_back((up_to += weight) / sum);
    up_to_.back() = 1;
  }

  std::size_t at(double uniform) const {
    const auto found = std::upper_bound(up_to_.begin(), std::prev(up_to_.end()), uniform);
    return static_cast<std::size_t>(found - up_to_.begin());
  }

 private:
  std::vector<double> up_to_;  // cumulative probabilities; the last is 1
};

}  // namespace weft
