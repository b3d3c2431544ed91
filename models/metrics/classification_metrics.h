// Confusion matrix of a classifier, and the metrics computed from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/plots/svg_heat_map.h"

namespace WEFT_API weft {

/// Confusion matrix: counts of examples by true and predicted class.
class ConfusionMatrix {
 public:
  /// Throws ArgumentError if there are fewer than two names.
  explicit ConfusionMatrix(std::vector<std::string> names);
  /// Counts one example. Throws ArgumentError if a class is out of range.
  void add(std::int64_t truth, std::int64_t predicted);
  /// Counts several examples. Also throws ArgumentError if the two lists differ in length.
  void add(std::span<const std::int32_t> truth, std::span<const std::int32_t> predicted);

  std::int64_t classes() const { return static_cast<std::int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// Returns how often `predicted` was predicted for class `truth`.
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const;
  std::int64_t total() const;
  /// Returns the number of examples with a correct prediction.
  std::int64_t correct() const;

  /// Returns the fraction of examples with a correct prediction; NaN if there are no examples.
  double accuracy() const;
  /// Returns the fraction of predictions of class c that are correct; 0 if there are no such
  /// predictions.
  double precision(std::int64_t c) const;
  /// Returns the fraction of examples of class c that were predicted as c; 0 if there are no such
  /// examples.
  double recall(std::int64_t c) const;
  /// Returns the harmonic mean of precision and recall; 0 if both are 0.
  double f1(std::int64_t c) const;
  /// Returns the mean F1 over all classes.
  double macro_f1() const;

  /// Returns a readable table with one line of metrics per class.
  std::string table() const;
  /// Returns a heat map with true classes as rows and predicted classes as columns.
  HeatMap heat_map(const std::string& title = {}) const;

 private:
  std::int64_t predicted(std::int64_t c) const;
  std::int64_t truths(std::int64_t c) const;

  std::vector<std::string> names_;
  std::vector<std::int64_t> counts_;  // counts_[truth * classes + predicted]
};

}  // namespace weft
