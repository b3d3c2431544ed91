// How well a classifier does: confusion matrix, accuracy, precision, recall, F1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/plots/svg_heat_map.h"

namespace weft {

/// Counts of what was true and what was predicted.
class ClassificationReport {
 public:
  /// Throws ArgumentError without classes.
  explicit ClassificationReport(std::vector<std::string> classes);

  /// Counts one example; ArgumentError for a class out of range.
  void add(std::int64_t truth, std::int64_t predicted);

  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const;
  std::int64_t total() const { return total_; }
  std::int64_t correct() const;

  /// Share of all that is right; NaN where nothing was counted.
  double accuracy() const;
  /// Of what was predicted as `c`, the share that is; 0 where nothing was.
  double precision(std::int64_t c) const;
  /// Of what is `c`, the share that was predicted so; 0 where nothing is.
  double recall(std::int64_t c) const;
  /// Harmonic mean of both; 0 where both are.
  double f1(std::int64_t c) const;
  /// Mean of the classes' F1.
  double macro_f1() const;

  /// A line per class with precision, recall, F1 and how many there are; ends with a line break.
  std::string table() const;
  /// The confusion matrix: true classes down, predicted ones across.
  HeatMap heat_map() const;

 private:
  std::int64_t predicted(std::int64_t c) const;
  std::int64_t truths(std::int64_t c) const;

  std::vector<std::string> classes_;
  std::vector<std::int64_t> counts_;  // [truth, predicted]
  std::int64_t total_ = 0;
};

}  // namespace weft
