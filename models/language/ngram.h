// N-gram language models with interpolated Kneser-Ney smoothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct NGramOptions {
  /// Tokens per n-gram: the last `order` - 1 tokens predict the next one.
  int order = 5;
  /// Token ids are in [0, vocab). The lowest order is interpolated with the uniform distribution,
  /// so every token has a positive probability.
  std::int64_t vocab = 0;
};

/// An n-gram model with interpolated Kneser-Ney smoothing (Kneser and Ney 1995, in the interpolated
/// form of Chen and Goodman 1998, equation 4.34 of the report). For a history h, and h' without the
/// first token of h,
///   p(w | h) = max(c(h w) - D, 0) / c(h) + D N(h) / c(h) p(w | h').
/// c counts n-grams at the highest order; at lower orders it counts the different tokens seen
/// before an n-gram. N(h) is the number of different tokens that follow h. The discount is D = n1 /
/// (n1 + 2 n2), computed from the numbers of n-grams with counts 1 and 2 at that order (0.5 if none
/// has count 1). For an unseen history, p(w | h) = p(w | h').
class NGramModel {
 public:
  /// Counts the n-grams of `ids`. Throws ArgumentError if the order or the vocabulary size is below
  /// 1, and DataError if an id is outside the vocabulary.
  NGramModel(std::span<const std::int32_t> ids, const NGramOptions& options);

  /// Returns p(token | the last order - 1 tokens of `history`).
  double probability(std::span<const std::int32_t> history, std::int32_t token) const;
  /// Returns the sum of the natural logarithms of the probabilities of all tokens, each given the
  /// tokens before it.
  double log_probability(std::span<const std::int32_t> ids) const;
  /// Returns exp(-log_probability / tokens). Throws ArgumentError if there are no tokens.
  double perplexity(std::span<const std::int32_t> ids) const;
  /// The discount D of n-grams of `length` tokens, 1 <= length <= order.
  double discount(int length) const {
    return orders_[static_cast<std::size_t>(length - 1)].discount;
  }
  int order() const { return static_cast<int>(orders_.size()); }
  std::int64_t vocab() const { return vocab_; }
  /// Number of stored counts.
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
  std::vector<Order> orders_;  // by n-gram length - 1
};

}  // namespace weft
