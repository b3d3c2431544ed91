// The mean of batches' means.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The mean over all examples of what batches say of theirs: a mean loss and how many it is of.
class WeightedMean {
 public:
  void add(double mean, double weight) {
    sum_ += mean * weight;
    weight_ += weight;
  }
  /// NaN of nothing.
  double value() const { return sum_ / weight_; }
  double weight() const { return weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace weft
