#include "weft/models/metrics/classification_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"

namespace weft {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

ClassificationReport::ClassificationReport(std::vector<std::string> classes)
    : classes_(std::move(classes)), counts_(classes_.size() * classes_.size(), 0) {
  if (classes_.empty()) throw ArgumentError("a report needs at least one class");
}

void ClassificationReport::add(std::int64_t truth, std::int64_t predicted) {
  const auto classes = static_cast<std::int64_t>(classes_.size());
  for (const std::int64_t c : {truth, predicted}) {
    if (c < 0 || c >= classes)
      throw ArgumentError(fmt::format("class {} is not one of the {} classes", c, classes));
  }
  ++counts_[static_cast<std::size_t>(truth * classes + predicted)];
  ++total_;
}

std::int64_t ClassificationReport::count(std::int64_t truth, std::int64_t predicted) const {
  return counts_.at(static_cast<std::size_t>(truth) * classes_.size() +
                    static_cast<std::size_t>(predicted));
}

std::int64_t ClassificationReport::correct() const {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c) sum += counts_[c * (classes_.size() + 1)];
  return sum;
}

std::int64_t ClassificationReport::predicted(std::int64_t c) const {
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < classes_.size(); ++t) sum += count(static_cast<std::int64_t>(t), c);
  return sum;
}

std::int64_t ClassificationReport::truths(std::int64_t c) const {
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < classes_.size(); ++p) sum += count(c, static_cast<std::int64_t>(p));
  return sum;
}

double ClassificationReport::accuracy() const {
  return total_ == 0 ? std::numeric_limits<double>::quiet_NaN() : ratio(correct(), total_);
}
double ClassificationReport::precision(std::int64_t c) const {
  return ratio(count(c, c), predicted(c));
}
double ClassificationReport::recall(std::int64_t c) const { return ratio(count(c, c), truths(c)); }
double ClassificationReport::f1(std::int64_t c) const {
  // 2 / (1 / precision + 1 / recall), in counts.
  return ratio(2 * count(c, c), predicted(c) + truths(c));
}

double ClassificationReport::macro_f1() const {
  double sum = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c) sum += f1(static_cast<std::int64_t>(c));
  return sum / static_cast<double>(classes_.size());
}

std::string ClassificationReport::table() const {
  std::size_t width = 5;
  for (const std::string& name : classes_) width = std::max(width, name.size());
  std::string out = fmt::format("{:<{}}  precision  recall      F1  examples\n", "class", width);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const auto c = static_cast<std::int64_t>(i);
    out += fmt::format("{:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {:8}\n", classes_[i], width,
                       precision(c), recall(c), f1(c), truths(c));
  }
  return out;
}

HeatMap ClassificationReport::heat_map() const {
  HeatMap map;
  map.rows = map.columns = static_cast<std::int64_t>(classes_.size());
  map.values.assign(counts_.begin(), counts_.end());
  map.row_labels = map.column_labels = classes_;
  map.row_axis = "true class";
  map.column_axis = "predicted class";
  // Numbers no longer fit the cells of many classes.
  map.show_values = classes_.size() <= 40;
  return map;
}

}  // namespace weft
