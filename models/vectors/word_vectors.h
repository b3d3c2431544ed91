// Words as vectors: which are alike, and which are to one word as two others are to each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

struct SimilarWord {
  std::string word;
  double cosine = 0;
};

/// Vectors of words, to be asked.
class WordVectors {
 public:
  WordVectors() = default;
  /// `vectors` is f32 [words, width] of finite numbers. Throws ArgumentError where it is not, and
  /// for a word that is there twice, is empty, or has white space in it.
  WordVectors(std::vector<std::string> words, Tensor vectors);

  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  std::int64_t width() const { return vectors_.size(1); }
  const std::vector<std::string>& words() const { return words_; }
  const Tensor& vectors() const { return vectors_; }

  /// The number of a word as it is written, else of its lower case (ASCII); -1 for neither.
  std::int64_t find(std::string_view word) const;
  /// The same; ArgumentError with the closest words that there are.
  std::int64_t at(std::string_view word) const;
  /// The numbers of word `i`.
  std::span<const float> vector(std::int64_t i) const;

  /// Cosine of two words' vectors; 0 where one is zero.
  double cosine(std::int64_t a, std::int64_t b) const;
  /// The `count` words most like a word, most alike first.
  std::vector<SimilarWord> nearest(std::string_view word, std::int64_t count) const;
  /// The words d for which "a is to b as c is to d": nearest to b - a + c of vectors of length 1
  /// (Mikolov, Yih and Zweig 2013), without a, b and c.
  std::vector<SimilarWord> analogy(std::string_view a, std::string_view b, std::string_view c,
                                   std::int64_t count) const;

 private:
  std::vector<SimilarWord> nearest_to(std::span<const double> query,
                                      std::span<const std::int64_t> besides,
                                      std::int64_t count) const;
  std::vector<double> direction(std::int64_t i) const;

  std::vector<std::string> words_;
  Tensor vectors_;
  std::vector<double> lengths_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace weft
