// Mean over batches with different sizes.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Mean over all examples, computed from the mean of each batch and its number of examples.
class WeightedMean {
 public:
  void add(double mean, double weight) {
    sum_ += mean * weight;
    weight_ += weight;
  }
  /// Returns the mean, or NaN if nothing was added.
  double value() const { return sum_ / weight_; }
  double weight() const { return weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

}  // namespace weft
