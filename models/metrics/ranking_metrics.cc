#include "weft/models/metrics/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

std::span<const std::size_t> first_documents(std::span<const std::size_t> ranking,
                                             const Relevance& relevant, std::size_t k) {
  if (k == 0) throw ArgumentError("the number k of documents that count must be at least 1");
  if (relevant.empty()) {
    throw ArgumentError("no document is relevant to the query: leave this query out of the metric");
  }
  return ranking.first(std::min(k, ranking.size()));
}

double discount(std::size_t place) { return 1 / std::log2(static_cast<double>(place) + 2); }

}  // namespace

double ndcg(std::span<const std::size_t> ranking, const Relevance& relevant, std::size_t k) {
  const auto first = first_documents(ranking, relevant, k);
  double gain = 0, best = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto found = relevant.find(first[i]);
    if (found != relevant.end()) gain += found->second * discount(i);
  }
  std::vector<double> grades;
  for (const auto& [document, grade] : relevant) grades.push_back(grade);
  std::sort(grades.begin(), grades.end(), std::greater<>());
  for (std::size_t i = 0; i < std::min(k, grades.size()); ++i) best += grades[i] * discount(i);
  return gain / best;
}

double reciprocal_rank(std::span<const std::size_t> ranking, const Relevance& relevant,
                       std::size_t k) {
  const auto first = first_documents(ranking, relevant, k);
  const auto found = std::find_if(first.begin(), first.end(), [&](std::size_t document) {
    return relevant.contains(document);
  });
  return found == first.end() ? 0 : 1 / static_cast<double>(found - first.begin() + 1);
}

double recall(std::span<const std::size_t> ranking, const Relevance& relevant, std::size_t k) {
  const auto first = first_documents(ranking, relevant, k);
  const auto found = std::count_if(first.begin(), first.end(), [&](std::size_t document) {
    return relevant.contains(document);
  });
  return static_cast<double>(found) / static_cast<double>(relevant.size());
}

}  // namespace weft
