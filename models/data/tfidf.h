// Bags of words, weighted by how rare the words are (TF-IDF).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// How the number of times that a word occurs in a text counts.
enum class TermFrequency : std::uint8_t {
  count,        // n
  logarithmic,  // 1 + ln n
  binary,       // 1
};
std::string_view term_frequency_name(TermFrequency form);

struct TfIdfOptions {
  int longest = 2;  // features are 1 to `longest` words in a row
  TermFrequency frequency = TermFrequency::logarithmic;
  bool punctuation = true;     // every sign is a word, too; else it only parts words
  std::int64_t min_texts = 1;  // features of fewer training texts are left out
  friend bool operator==(const TfIdfOptions&, const TfIdfOptions&) = default;
};

/// Words: runs of letters and digits (every character beyond ASCII is a letter), ASCII in lower
/// case.
std::vector<std::string> words(std::string_view text, bool punctuation);

/// Rows of features, those that are not 0 only: row by row, and ascending in each.
struct SparseRows {
  std::int64_t rows = 0;
  std::vector<std::int32_t> row, feature;
  std::vector<float> value;
};

/// Weights of the features of a training text. Of n texts, d of which have a feature, a text in
/// which it occurs gets tf * (ln((1 + n) / (1 + d)) + 1); every row then has length 1 (0 without a
/// known feature).
class TfIdf {
 public:
  /// Throws ArgumentError for options out of range and where no feature is left.
  TfIdf(std::span<const std::string> texts, const TfIdfOptions& options);

  std::int64_t features() const { return static_cast<std::int64_t>(idf_.size()); }
  /// -1 for an unknown one; words are parted by a blank.
  std::int32_t find(std::string_view feature) const;
  SparseRows operator()(std::span<const std::string> texts) const;

 private:
  std::map<std::string, double> counts(const std::string& text) const;
  TfIdfOptions options_;
  std::map<std::string, std::int32_t, std::less<>> ids_;
  std::vector<double> idf_;
};

/// The scalar product of each row of `a` with the same row of `b`: of rows of length 1 the cosine.
/// Throws ArgumentError where there are not as many.
std::vector<double> row_products(const SparseRows& a, const SparseRows& b);

}  // namespace weft
