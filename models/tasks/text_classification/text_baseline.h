// Baseline for text classifiers: bag-of-words logistic regression.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/models/data/features/tfidf.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/metrics/classification_metrics.h"

namespace WEFT_API weft {

/// Multinomial logistic regression. The loss is the mean cross-entropy plus l2 / 2 times the sum of
/// squared weights, excluding biases. A graph computes the loss and the gradient in double
/// precision, and L-BFGS (autodiff/optimizers/lbfgs.h) minimises the loss.
class LogisticRegression {
 public:
  /// Labels must be in [0, classes). Throws ArgumentError if the numbers of labels and rows differ,
  /// if there are no rows, if there are fewer than two classes, or if there are 2^31 parameters or
  /// more.
  LogisticRegression(const SparseRows& rows, std::span<const std::int32_t> labels,
                     std::int64_t features, std::int64_t classes, int threads = 0);
  ~LogisticRegression();

  /// Minimises the loss for `l2`, starting from the current parameters. Ends after 200 iterations,
  /// when no gradient element exceeds 1e-7, or when rounding prevents a decrease of the loss.
  /// Throws ArgumentError if `l2` is negative, and DataError if a label is out of range.
  void fit(double l2);
  /// Returns the most likely class of every row.
  std::vector<std::int32_t> predict(const SparseRows& rows) const;
  /// Returns the weights [features, classes], followed by the biases [classes].
  const std::vector<double>& parameters() const { return parameters_; }
  /// Returns the largest absolute gradient element after fit(), which measures convergence.
  double gradient() const { return gradient_; }

 private:
  struct Loss;
  std::unique_ptr<Loss> loss_;
  std::size_t classes_;
  std::vector<double> parameters_;
  double gradient_ = 0;
};

/// The tuned baseline: its settings and its results.
struct TextBaseline {
  TfIdfOptions features;
  double l2 = 0;
  double validation_accuracy = 0;  // accuracy of the chosen settings over all folds
  std::int64_t tried = 0;          // number of settings that were compared
  ConfusionMatrix test;
};
/// Tunes the TF-IDF options and `l2` by cross-validation on `train`, trains with the best settings
/// on all of `train`, and evaluates on `test`. Folds are stratified and depend on `seed`. If
/// several settings have the same accuracy, the largest l2 is chosen.
TextBaseline tfidf_baseline(const LabelledText& train, const LabelledText& test,
                            std::uint64_t seed = 1, int folds = 4, int threads = 0);

}  // namespace weft
