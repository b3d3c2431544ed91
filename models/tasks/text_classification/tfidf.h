// Bags of words weighted by how rare they are (TF-IDF), and logistic regression on them: what a
// text classifier must beat.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/metrics/classification_metrics.h"

namespace weft {

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

/// Rows of features, those that are not 0 only, row by row.
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

/// Multinomial logistic regression: mean cross-entropy + l2 / 2 * (sum of squared weights; biases
/// are free). Loss and gradient are a graph in double; L-BFGS finds the minimum.
class LogisticRegression {
 public:
  /// Labels are in [0, classes). Throws ArgumentError where sizes do not fit.
  LogisticRegression(const SparseRows& rows, std::span<const std::int32_t> labels,
                     std::int64_t features, std::int64_t classes, int threads = 0);
  ~LogisticRegression();

  /// Goes to the minimum for this l2, from where the last one was. Throws ArgumentError for a
  /// negative one.
  void fit(double l2);
  /// The most likely class of every row.
  std::vector<std::int32_t> predict(const SparseRows& rows) const;
  /// Weights [features, classes], then biases [classes].
  const std::vector<double>& parameters() const { return parameters_; }
  /// The largest element of the gradient there: how near to the minimum.
  double gradient() const { return gradient_; }

 private:
  struct Loss;
  std::unique_ptr<Loss> loss_;
  std::size_t classes_;
  std::vector<double> parameters_;
  double gradient_ = 0;
};

/// Both, tuned and trained.
struct TextBaseline {
  TfIdfOptions features;
  double l2 = 0;
  double validation_accuracy = 0;  // mean over the folds, of what was chosen
  std::int64_t tried = 0;          // settings
  ConfusionMatrix test;
};
/// Tunes the form of the features and L2 by cross-validation within `train` only (stratified folds,
/// drawn from `seed`; of equals the stronger L2), trains on all of it, and measures on `test`.
TextBaseline tfidf_baseline(const LabelledText& train, const LabelledText& test,
                            std::uint64_t seed = 1, int folds = 4, int threads = 0);

}  // namespace weft
