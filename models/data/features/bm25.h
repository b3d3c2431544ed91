// BM25, the ranking function of full-text search engines, as a baseline for text embeddings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct Bm25Options {
  double k1 = 1.2;  // saturation of the word frequency; at least 0
  double b = 0.75;  // normalisation by the length of the text; in [0, 1]
};

/// An inverted index over texts. The score of a text for a query is the sum over the words of the
/// query of
///   idf * f (k1 + 1) / (f + k1 (1 - b + b length / mean length)),
///   idf = ln(1 + (N - n + 0.5) / (n + 0.5)),
/// where f is the frequency of the word in the text, and n of N texts contain it (Robertson and
/// Zaragoza 2009, with the idf of Lucene, which is never negative). Words are those of words() in
/// tfidf.h without punctuation. A word that occurs twice in the query counts twice.
class Bm25 {
 public:
  /// Throws ArgumentError if options are out of range.
  explicit Bm25(std::span<const std::string> texts, const Bm25Options& options = {});

  /// Returns the score of every text, in text order. Texts without a word of the query have score
  /// 0. The cost is proportional to the number of occurrences of these words.
  std::vector<double> scores(std::string_view query) const;
  /// Returns the indices of the `most` texts with the greatest scores above 0, in descending order
  /// of scores; equal scores keep the order of the texts.
  std::vector<std::size_t> ranking(std::string_view query, std::size_t most) const;

 private:
  using Postings = std::vector<std::pair<std::size_t, double>>;  // text and weight of the word
  std::size_t texts_;
  std::map<std::string, Postings, std::less<>> index_;
};

}  // namespace weft
