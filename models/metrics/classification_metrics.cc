#include "weft/models/metrics/classification_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/models/metrics/share.h"

namespace weft {

ConfusionMatrix::ConfusionMatrix(std::vector<std::string> names)
    : names_(std::move(names)), counts_(names_.size() * names_.size(), 0) {
  if (names_.size() < 2)
    throw ArgumentError(
        fmt::format("a confusion matrix needs at least two classes, not {}", names_.size()));
}

void ConfusionMatrix::add(std::int64_t truth, std::int64_t predicted) {
  for (const std::int64_t c : {truth, predicted}) {
    if (c < 0 || c >= classes())
      throw ArgumentError(fmt::format("class {} is out of range [0, {})", c, classes()));
  }
  ++counts_[static_cast<std::size_t>(truth * classes() + predicted)];
}

void ConfusionMatrix::add(std::span<const std::int32_t> truth,
                          std::span<const std::int32_t> predicted) {
  if (truth.size() != predicted.size()) {
    throw ArgumentError(
        fmt::format("{} classes were predicted for {} examples", predicted.size(), truth.size()));
  }
  for (std::size_t i = 0; i < truth.size(); ++i) add(truth[i], predicted[i]);
}

std::int64_t ConfusionMatrix::count(std::int64_t truth, std::int64_t predicted) const {
  return counts_.at(static_cast<std::size_t>(truth * classes() + predicted));
}

std::int64_t ConfusionMatrix::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::int64_t ConfusionMatrix::correct() const {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < classes(); ++c) sum += count(c, c);
  return sum;
}

std::int64_t ConfusionMatrix::predicted(std::int64_t c) const {
  std::int64_t sum = 0;
  for (std::int64_t t = 0; t < classes(); ++t) sum += count(t, c);
  return sum;
}

std::int64_t ConfusionMatrix::truths(std::int64_t c) const {
  std::int64_t sum = 0;
  for (std::int64_t p = 0; p < classes(); ++p) sum += count(c, p);
  return sum;
}

double ConfusionMatrix::accuracy() const {
  return static_cast<double>(correct()) / static_cast<double>(total());
}
double ConfusionMatrix::precision(std::int64_t c) const { return share(count(c, c), predicted(c)); }
double ConfusionMatrix::recall(std::int64_t c) const { return share(count(c, c), truths(c)); }
double ConfusionMatrix::f1(std::int64_t c) const {
  return f1_of_counts(count(c, c), predicted(c), truths(c));
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0;
  for (std::int64_t c = 0; c < classes(); ++c) sum += f1(c);
  return sum / static_cast<double>(classes());
}

std::string ConfusionMatrix::table() const {
  std::size_t width = 5;
  for (const std::string& name : names_) width = std::max(width, name.size());
  std::string text = fmt::format("  {:<{}}  precision  recall      F1  examples\n", "class", width);
  for (std::int64_t c = 0; c < classes(); ++c) {
    text += fmt::format("  {:<{}}  {:9.4f}  {:6.4f}  {:6.4f}  {:8}\n",
                        names_[static_cast<std::size_t>(c)], width, precision(c), recall(c), f1(c),
                        truths(c));
  }
  return text;
}

HeatMap ConfusionMatrix::heat_map(const std::string& title) const {
  return {.title = title,
          .rows = classes(),
          .columns = classes(),
          .values = {counts_.begin(), counts_.end()},
          .row_labels = names_,
          .column_labels = names_,
          .row_axis = "true class",
          .column_axis = "predicted class",
          // With many classes, the cells are too small for numbers.
          .show_values = classes() <= 40};
}

}  // namespace weft
