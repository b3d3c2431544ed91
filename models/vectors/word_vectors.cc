#include "weft/models/vectors/word_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
namespace {

bool is_word(const std::string& word) {
  return !word.empty() && std::none_of(word.begin(), word.end(), [](char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
  });
}

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return result;
}

double inner_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

WordVectors::WordVectors(std::vector<std::string> words, Tensor vectors)
    : words_(std::move(words)), vectors_(std::move(vectors)) {
  if (vectors_.dtype() != DType::f32 || vectors_.rank() != 2 || vectors_.size(0) != size()) {
    throw ArgumentError(fmt::format("{} words require vectors of type f32[{}, width], not {}",
                                    size(), size(), vectors_.type_str()));
  }
  numbers_.reserve(words_.size());
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::string& word = words_[static_cast<std::size_t>(i)];
    if (!is_word(word))
      throw ArgumentError(fmt::format("word {} is empty or contains white space", i));
    if (!numbers_.emplace(word, i).second)
      throw ArgumentError(fmt::format("the word '{}' occurs twice", word));
    const double square = inner_product(vector(i), vector(i));
    if (!std::isfinite(square))
      throw ArgumentError(fmt::format("the embedding of '{}' contains NaN or infinity", word));
    lengths_.push_back(std::sqrt(square));
  }
}

std::int64_t WordVectors::find(std::string_view word) const {
  auto it = numbers_.find(std::string(word));
  if (it == numbers_.end()) it = numbers_.find(lower(word));
  return it == numbers_.end() ? -1 : it->second;
}

std::int64_t WordVectors::at(std::string_view word) const {
  const std::int64_t found = find(word);
  if (found < 0) {
    throw ArgumentError(
        fmt::format("there is no embedding of '{}'{}", word, did_you_mean(word, words_)));
  }
  return found;
}

std::span<const float> WordVectors::vector(std::int64_t i) const {
  const auto width = static_cast<std::size_t>(this->width());
  return vectors_.span<float>().subspan(static_cast<std::size_t>(i) * width, width);
}

double WordVectors::cosine(std::int64_t a, std::int64_t b) const {
  const double lengths =
      lengths_[static_cast<std::size_t>(a)] * lengths_[static_cast<std::size_t>(b)];
  return lengths == 0 ? 0 : inner_product(vector(a), vector(b)) / lengths;
}

std::vector<double> WordVectors::direction(std::int64_t i) const {
  const double length = lengths_[static_cast<std::size_t>(i)];
  std::vector<double> result;
  for (const float x : vector(i)) result.push_back(length == 0 ? 0 : x / length);
  return result;
}

std::vector<SimilarWord> WordVectors::nearest_to(std::span<const double> query,
                                                 std::span<const std::int64_t> excluded,
                                                 std::int64_t count) const {
  double square = 0;
  for (const double x : query) square += x * x;
  std::vector<double> cosines;
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < size(); ++i) {
    const std::span<const float> other = vector(i);
    double sum = 0;
    for (std::size_t k = 0; k < query.size(); ++k) sum += query[k] * static_cast<double>(other[k]);
    const double lengths = lengths_[static_cast<std::size_t>(i)] * std::sqrt(square);
    cosines.push_back(lengths == 0 ? 0 : sum / lengths);
    if (std::find(excluded.begin(), excluded.end(), i) == excluded.end()) order.push_back(i);
  }
  const auto better = [&](std::int64_t a, std::int64_t b) {
    const double x = cosines[static_cast<std::size_t>(a)], y = cosines[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto kept = std::clamp<std::int64_t>(count, 0, std::ssize(order));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), better);
  std::vector<SimilarWord> result;
  for (std::int64_t i = 0; i < kept; ++i) {
    const auto at = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    result.push_back({words_[at], cosines[at]});
  }
  return result;
}

std::vector<SimilarWord> WordVectors::nearest(std::string_view word, std::int64_t count) const {
  const std::int64_t i = at(word);
  return nearest_to(direction(i), std::vector<std::int64_t>{i}, count);
}

std::vector<SimilarWord> WordVectors::analogy(std::string_view a, std::string_view b,
                                              std::string_view c, std::int64_t count) const {
  const std::vector<std::int64_t> words = {at(a), at(b), at(c)};
  std::vector<double> query = direction(words[1]);
  const std::vector<double> from = direction(words[0]), to = direction(words[2]);
  for (std::size_t k = 0; k < query.size(); ++k) query[k] += to[k] - from[k];
  return nearest_to(query, words, count);
}

}  // namespace weft
