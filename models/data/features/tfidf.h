// TF-IDF features, which are bags of n-grams weighted by the rarity of the n-grams.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The weight of a word that occurs n times in a text.
enum class TermFrequency : std::uint8_t {
  count,        // n
  logarithmic,  // 1 + ln n
  binary,       // 1
};
std::string_view term_frequency_name(TermFrequency form);

struct TfIdfOptions {
  int longest = 2;  // features are n-grams of 1 to `longest` words
  TermFrequency frequency = TermFrequency::logarithmic;
  /// If true, each punctuation character is a word. Otherwise punctuation only separates words.
  bool punctuation = true;
  /// Features that occur in fewer training texts than this are dropped.
  std::int64_t min_texts = 1;
  friend bool operator==(const TfIdfOptions&, const TfIdfOptions&) = default;
};

/// Returns the words of a text, which are runs of letters and digits. ASCII letters are converted
/// to lower case. Every non-ASCII character counts as a letter. If `punctuation` is true, each
/// ASCII punctuation character is also a word.
std::vector<std::string> words(std::string_view text, bool punctuation);

/// Sparse rows of features. The nonzero entries are stored row by row, with ascending feature
/// indices in each row.
struct SparseRows {
  std::int64_t rows = 0;
  std::vector<std::int32_t> row, feature;
  std::vector<float> value;
};

/// TF-IDF weights, fitted to training texts. If d of n training texts contain a feature, its weight
/// in a text is tf * (ln((1 + n) / (1 + d)) + 1). Each row is then scaled to length 1 (or is 0 if
/// it contains no known feature).
class TfIdf {
 public:
  /// Throws ArgumentError if options are out of range or if there are no features.
  TfIdf(std::span<const std::string> texts, const TfIdfOptions& options);

  std::int64_t features() const { return static_cast<std::int64_t>(idf_.size()); }
  /// Returns the index of a feature, or -1 if the feature is unknown. The words in `feature` are
  /// separated by spaces.
  std::int32_t find(std::string_view feature) const;
  SparseRows operator()(std::span<const std::string> texts) const;

 private:
  std::map<std::string, double> counts(const std::string& text) const;
  TfIdfOptions options_;
  std::map<std::string, std::int32_t, std::less<>> ids_;
  std::vector<double> idf_;
};

/// Returns the dot product of each row of `a` with the corresponding row of `b`, which is the
/// cosine if the rows have length 1. Throws ArgumentError if the numbers of rows differ.
std::vector<double> row_products(const SparseRows& a, const SparseRows& b);

}  // namespace weft
