#include "weft/models/language/ngram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "weft/core/error.h"

namespace weft {
namespace {

using Index = std::size_t;

// The discount if no n-gram has a count of 1. The estimated discount would then be 0, which would
// make unseen n-grams impossible.
constexpr double kDiscount = 0.5;

char32_t to_char32(std::int32_t id) { return static_cast<char32_t>(id); }

}  // namespace

NGramModel::NGramModel(std::span<const std::int32_t> ids, const NGramOptions& options)
    : vocab_(options.vocab) {
  if (options.order < 1) {
    throw ArgumentError(
        fmt::format("an n-gram model needs an order of at least 1, not {}", options.order));
  }
  if (options.vocab < 1) {
    throw ArgumentError(
        fmt::format("an n-gram model needs a vocabulary of at least 1, not {}", options.vocab));
  }
  std::u32string text;
  text.reserve(ids.size());
  for (Index i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_) {
      throw DataError(fmt::format("token {} is {}, which is outside the vocabulary of {} ids", i,
                                  ids[i], vocab_));
    }
    text.push_back(to_char32(ids[i]));
  }
  orders_.resize(static_cast<Index>(options.order));
  // The highest order counts n-grams. At lower orders, the count of an n-gram is the number of
  // distinct n-grams of the next higher order that end with it.
  const Index n = orders_.size();
  for (Index i = n - 1; i < text.size(); ++i) {
    History& h = orders_[n - 1].histories[text.substr(i + 1 - n, n - 1)];
    ++h.total;
    ++h.next[ids[i]];
  }
  for (Index length = n - 1; length >= 1; --length) {
    for (const auto& [history, counts] : orders_[length].histories) {
      History& shorter = orders_[length - 1].histories[history.substr(1)];
      for (const auto& [token, count] : counts.next) {
        ++shorter.total;
        ++shorter.next[token];
      }
    }
  }
  for (Order& order : orders_) {
    std::int64_t once = 0, twice = 0;
    for (const auto& [history, counts] : order.histories) {
      for (const auto& [token, count] : counts.next) {
        once += count == 1 ? 1 : 0;
        twice += count == 2 ? 1 : 0;
      }
    }
    order.discount =
        once == 0 ? kDiscount : static_cast<double>(once) / static_cast<double>(once + 2 * twice);
  }
}

double NGramModel::probability(std::u32string_view history, std::int32_t token) const {
  // Interpolate from the shortest history to the longest.
  double p = 1.0 / static_cast<double>(vocab_);
  for (Index length = 0; length <= history.size() && length < orders_.size(); ++length) {
    const Order& order = orders_[length];
    const auto found =
        order.histories.find(std::u32string(history.substr(history.size() - length)));
    if (found == order.histories.end()) break;
    const History& h = found->second;
    const auto next = h.next.find(token);
    const double count = next == h.next.end() ? 0 : static_cast<double>(next->second);
    const auto total = static_cast<double>(h.total);
    const double kept = std::max(count - order.discount, 0.0) / total;
    p = kept + order.discount * static_cast<double>(h.next.size()) / total * p;
  }
  return p;
}

double NGramModel::probability(std::span<const std::int32_t> history, std::int32_t token) const {
  if (token < 0 || token >= vocab_) {
    throw DataError(fmt::format("token {} is outside the vocabulary of {} ids", token, vocab_));
  }
  const Index used = std::min(history.size(), orders_.size() - 1);
  std::u32string text;
  for (const std::int32_t id : history.subspan(history.size() - used))
    text.push_back(to_char32(id));
  return probability(std::u32string_view(text), token);
}

double NGramModel::log_probability(std::span<const std::int32_t> ids) const {
  double sum = 0;
  for (Index i = 0; i < ids.size(); ++i) sum += std::log(probability(ids.first(i), ids[i]));
  return sum;
}

double NGramModel::perplexity(std::span<const std::int32_t> ids) const {
  if (ids.empty()) throw ArgumentError("perplexity needs at least one token");
  return std::exp(-log_probability(ids) / static_cast<double>(ids.size()));
}

std::size_t NGramModel::size() const {
  Index count = 0;
  for (const Order& order : orders_) {
    for (const auto& [history, counts] : order.histories) count += counts.next.size();
  }
  return count;
}

}  // namespace weft
