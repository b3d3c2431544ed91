// Logistic regression on bags of words: what a text classifier must beat.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/models/data/labelled_text.h"
#include "weft/models/data/tfidf.h"
#include "weft/models/metrics/classification_metrics.h"

namespace WEFT_API weft {

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
