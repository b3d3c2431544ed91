// Models of text by counts: interpolated Kneser-Ney smoothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct NGramOptions {
  /// Tokens of a gram: the last `order` - 1 tokens predict the next one.
  int order = 5;
  /// Ids are from 0 to vocab - 1. The lowest order is interpolated with the uniform distribution,
  /// so that every token has a probability above 0.
  std::int64_t vocab = 0;
};

/// An n-gram model with interpolated Kneser-Ney smoothing (Kneser and Ney 1995, in the interpolated
/// form of Chen and Goodman 1998, equation 4.34 of the report): with history h, shortened by its
/// first token to h',
///   p(w | h) = max(c(h w) - D, 0) / c(h) + D N(h) / c(h) p(w | h'),
/// where c counts grams at the highest order and, below, the different tokens seen before a gram;
/// N(h) is how many different tokens follow h, and D = n1 / (n1 + 2 n2) from the numbers of grams
/// counted once and twice at that order (0.5 where none was counted once). Unseen histories are
/// those without their first token.
class NGramModel {
 public:
  /// Counts `ids`. Throws ArgumentError for an order below 1, DataError for an id outside of the
  /// vocabulary.
  NGramModel(std::span<const std::int32_t> ids, const NGramOptions& options);

  /// p(token | the last order - 1 tokens of `history`).
  double probability(std::span<const std::int32_t> history, std::int32_t token) const;
  /// Sum of the natural logarithms of all tokens' probabilities, each given those before it.
  double log_probability(std::span<const std::int32_t> ids) const;
  /// exp(-log_probability / tokens).
  double perplexity(std::span<const std::int32_t> ids) const;
  /// Of grams of `length` tokens, from 1 to order.
  double discount(int length) const {
    return orders_[static_cast<std::size_t>(length - 1)].discount;
  }
  int order() const { return static_cast<int>(orders_.size()); }
  std::int64_t vocab() const { return vocab_; }
  /// Counts held.
  std::size_t size() const;

 private:
  struct History {
    std::int64_t total = 0;
    std::unordered_map<std::int32_t, std::int64_t> next;
  };
  struct Order {
    double discount = 0;
    std::unordered_map<std::u32string, History> histories;
  };
  double probability(std::u32string_view history, std::int32_t token) const;

  std::int64_t vocab_;
  std::vector<Order> orders_;  // by length of gram - 1
};

}  // namespace weft
