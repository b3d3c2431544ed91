// Word embeddings with queries for similar words and analogies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// A word and the cosine similarity of its embedding to the query.
struct SimilarWord {
  std::string word;
  double cosine = 0;
};

/// The embeddings of a set of words, with similarity queries.
class WordVectors {
 public:
  WordVectors() = default;
  /// `vectors` must be f32 [words, width] with finite numbers. Throws ArgumentError if it is not,
  /// or if a word is a duplicate, is empty or contains white space.
  WordVectors(std::vector<std::string> words, Tensor vectors);

  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  std::int64_t width() const { return vectors_.size(1); }
  const std::vector<std::string>& words() const { return words_; }
  const Tensor& vectors() const { return vectors_; }

  /// Returns the number of a word as written or, if it is unknown, of its lower-case form (ASCII).
  /// Returns -1 if neither is known.
  std::int64_t find(std::string_view word) const;
  /// As above, but throws ArgumentError with the closest known words if neither is known.
  std::int64_t at(std::string_view word) const;
  /// The embedding of word number `i`.
  std::span<const float> vector(std::int64_t i) const;

  /// Returns the cosine of the embeddings of two words; 0 if either embedding is zero.
  double cosine(std::int64_t a, std::int64_t b) const;
  /// Returns the `count` most similar words, by descending cosine.
  std::vector<SimilarWord> nearest(std::string_view word, std::int64_t count) const;
  /// Returns the words d for which "a is to b as c is to d": the words nearest to b - a + c,
  /// computed with embeddings of unit length (Mikolov, Yih and Zweig 2013). The words a, b and c
  /// are excluded.
  std::vector<SimilarWord> analogy(std::string_view a, std::string_view b, std::string_view c,
                                   std::int64_t count) const;

 private:
  std::vector<SimilarWord> nearest_to(std::span<const double> query,
                                      std::span<const std::int64_t> excluded,
                                      std::int64_t count) const;
  std::vector<double> direction(std::int64_t i) const;

  std::vector<std::string> words_;
  Tensor vectors_;
  std::vector<double> lengths_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace weft
