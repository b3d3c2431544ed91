#include "weft/models/data/features/bm25.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/features/tfidf.h"

namespace weft {

Bm25::Bm25(std::span<const std::string> texts, const Bm25Options& options) : texts_(texts.size()) {
  if (!(options.k1 >= 0) || !std::isfinite(options.k1) || !(options.b >= 0 && options.b <= 1)) {
    throw ArgumentError(fmt::format("k1 ({}) must be at least 0, and b ({}) must be in [0, 1]",
                                    options.k1, options.b));
  }
  std::vector<double> lengths;
  double total = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::string> found = words(texts[i], false);
    lengths.push_back(static_cast<double>(found.size()));
    total += lengths.back();
    for (const std::string& word : found) {
      Postings& postings = index_[word];
      if (postings.empty() || postings.back().first != i) postings.emplace_back(i, 0);
      ++postings.back().second;
    }
  }
  const double n = static_cast<double>(texts.size()), mean = total > 0 ? total / n : 1;
  for (auto& [word, postings] : index_) {
    const auto with = static_cast<double>(postings.size());
    const double idf = std::log1p((n - with + 0.5) / (with + 0.5));
    for (auto& [text, weight] : postings) {
      const double norm = options.k1 * (1 - options.b + options.b * lengths[text] / mean);
      weight = idf * weight * (options.k1 + 1) / (weight + norm);
    }
  }
}

std::vector<double> Bm25::scores(std::string_view query) const {
  std::vector<double> result(texts_);
  for (const std::string& word : words(query, false)) {
    const auto found = index_.find(word);
    if (found == index_.end()) continue;
    for (const auto& [text, weight] : found->second) result[text] += weight;
  }
  return result;
}

std::vector<std::size_t> Bm25::ranking(std::string_view query, std::size_t most) const {
  const std::vector<double> all = scores(query);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] > 0) found.push_back(i);
  }
  const std::size_t count = std::min(most, found.size());
  std::partial_sort(
      found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
      [&](std::size_t a, std::size_t b) { return all[a] != all[b] ? all[a] > all[b] : a < b; });
  found.resize(count);
  return found;
}

}  // namespace weft
