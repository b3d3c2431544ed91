#include "weft/models/data/features/tfidf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/formats/ascii_case.h"

namespace weft {
namespace {

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const char lower = static_cast<char>(c | 0x20);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z');
}

}  // namespace

std::string_view term_frequency_name(TermFrequency form) {
  constexpr std::string_view kNames[] = {"count", "logarithmic", "binary"};
  return kNames[static_cast<std::size_t>(form)];
}

std::vector<std::string> words(std::string_view text, bool punctuation) {
  std::vector<std::string> result;
  bool inside = false;
  for (const char c : text) {
    if (in_word(c)) {
      if (!inside) result.emplace_back();
      result.back() += ascii_lower(c);
      inside = true;
      continue;
    }
    inside = false;
    if (punctuation && c > ' ' && c < 0x7F) result.emplace_back(1, c);
  }
  return result;
}

TfIdf::TfIdf(std::span<const std::string> texts, const TfIdfOptions& options) : options_(options) {
  if (options.longest < 1 || options.min_texts < 1) {
    throw ArgumentError(fmt::format("longest ({}) and min_texts ({}) must be at least 1",
                                    options.longest, options.min_texts));
  }
  std::map<std::string, std::int64_t> texts_with;
  for (const std::string& text : texts) {
    for (const auto& [feature, count] : counts(text)) ++texts_with[feature];
  }
  const double n = static_cast<double>(texts.size());
  for (const auto& [feature, found] : texts_with) {
    if (found < options.min_texts) continue;
    ids_.emplace(feature, static_cast<std::int32_t>(idf_.size()));
    idf_.push_back(std::log((1 + n) / (1 + static_cast<double>(found))) + 1);
  }
  if (ids_.empty()) throw ArgumentError("the texts have no features");
}

std::int32_t TfIdf::find(std::string_view feature) const {
  const auto it = ids_.find(feature);
  return it == ids_.end() ? -1 : it->second;
}

std::map<std::string, double> TfIdf::counts(const std::string& text) const {
  const std::vector<std::string> all = words(text, options_.punctuation);
  std::map<std::string, double> result;
  for (std::size_t begin = 0; begin < all.size(); ++begin) {
    std::string feature;
    for (std::size_t i = begin;
         i < std::min(all.size(), begin + static_cast<std::size_t>(options_.longest)); ++i) {
      feature += (i == begin ? "" : " ") + all[i];
      ++result[feature];
    }
  }
  return result;
}

SparseRows TfIdf::operator()(std::span<const std::string> texts) const {
  SparseRows rows;
  for (const std::string& text : texts) {
    const auto id = static_cast<std::int32_t>(rows.rows++);
    const std::size_t begin = rows.value.size();
    double squares = 0;
    for (const auto& [name, count] : counts(text)) {
      const std::int32_t feature = find(name);
      if (feature < 0) continue;
      const double tf = options_.frequency == TermFrequency::count         ? count
                        : options_.frequency == TermFrequency::logarithmic ? 1 + std::log(count)
                                                                           : 1;
      const double value = tf * idf_[static_cast<std::size_t>(feature)];
      squares += value * value;
      rows.row.push_back(id);
      rows.feature.push_back(feature);
      rows.value.push_back(static_cast<float>(value));
    }
    for (std::size_t i = begin; i < rows.value.size(); ++i)
      rows.value[i] = static_cast<float>(rows.value[i] / std::sqrt(squares));
  }
  return rows;
}

std::vector<double> row_products(const SparseRows& a, const SparseRows& b) {
  if (a.rows != b.rows)
    throw ArgumentError(fmt::format("the numbers of rows differ: {} and {}", a.rows, b.rows));
  std::vector<double> result(static_cast<std::size_t>(a.rows), 0);
  const auto place = [](const SparseRows& rows, std::size_t i) {
    return std::pair(rows.row[i], rows.feature[i]);
  };
  for (std::size_t i = 0, j = 0; i < a.row.size() && j < b.row.size();) {
    const auto here = place(a, i), there = place(b, j);
    if (here == there) {
      result[static_cast<std::size_t>(a.row[i])] +=
          static_cast<double>(a.value[i]) * static_cast<double>(b.value[j]);
    }
    if (here <= there) ++i;
    if (there <= here) ++j;
  }
  return result;
}

}  // namespace weft
