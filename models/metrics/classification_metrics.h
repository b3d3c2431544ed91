// How well classes are told apart: counts, and the figures made of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/plots/svg_heat_map.h"

namespace WEFT_API weft {

/// counts[true * classes + predicted].
class ConfusionMatrix {
 public:
  /// Throws ArgumentError for fewer than two names.
  explicit ConfusionMatrix(std::vector<std::string> names);
  /// Counts one example; ArgumentError where a class is out of range.
  void add(std::int64_t truth, std::int64_t predicted);
  /// Counts as many; ArgumentError, too, where the numbers of both differ.
  void add(std::span<const std::int32_t> truth, std::span<const std::int32_t> predicted);

  std::int64_t classes() const { return static_cast<std::int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// How often class `truth` was called `predicted`.
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const;
  std::int64_t total() const;
  /// How many were found.
  std::int64_t correct() const;

  /// Share of examples whose class was found; NaN without examples.
  double accuracy() const;
  /// Of those said to be c, the share that is; 0 where none was.
  double precision(std::int64_t c) const;
  /// Of those that are c, the share that was found; 0 where there is none.
  double recall(std::int64_t c) const;
  /// Harmonic mean of both; 0 where both are.
  double f1(std::int64_t c) const;
  /// Mean of the F1 of all classes.
  double macro_f1() const;

  /// The figures of every class, a line each, as text for people.
  std::string table() const;
  /// True classes down, predicted ones across.
  HeatMap heat_map(const std::string& title = {}) const;

 private:
  std::int64_t predicted(std::int64_t c) const;
  std::int64_t truths(std::int64_t c) const;

  std::vector<std::string> names_;
  std::vector<std::int64_t> counts_;
};

}  // namespace weft
