#include "weft/models/tasks/text_classification/text_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "weft/autodiff/optimizers/lbfgs.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/flat_parameters.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

template <class T>
Tensor column(const std::vector<T>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

/// Returns the fold of every example. Folds are stratified: all have the same class proportions.
std::vector<int> folds_of(std::span<const std::int32_t> labels, int folds, std::uint64_t seed) {
  std::map<std::int32_t, std::vector<std::size_t>> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) classes[labels[i]].push_back(i);
  std::vector<int> fold(labels.size());
  for (auto& [label, members] : classes) {
    Rng(stable_hash("folds", seed), static_cast<std::uint32_t>(label)).shuffle(members);
    for (std::size_t i = 0; i < members.size(); ++i)
      fold[members[i]] = static_cast<int>(i % static_cast<std::size_t>(folds));
  }
  return fold;
}

}  // namespace

/// The graph that computes the loss, and its inputs.
struct LogisticRegression::Loss {
  Loss(const SparseRows& rows, std::span<const std::int32_t> labels, std::int64_t features,
       std::int64_t classes, int threads)
      : session(graph, {.threads = threads}),
        parameters({graph.variable("weights", DType::f64, {features, classes}),
                    graph.variable("biases", DType::f64, {classes})}) {
    const Value row = graph.input("row", DType::i32, {"entries"});
    const Value feature = graph.input("feature", DType::i32, {"entries"});
    const Value value = graph.input("value", DType::f64, {"entries"});
    const Value truth = graph.input("labels", DType::i32, {"rows"});
    const Value l2 = graph.input("l2", DType::f64, {});
    const Value weights = parameters[0], biases = parameters[1];
    // Sparse-dense matrix product: every entry adds a multiple of a weight row.
    const Value products = take(weights, feature) * unsqueeze(value, 1);
    const Value scores =
        index_add(zeros(graph, DType::f64, {truth.size(0), classes}), row, products);
    loss = cross_entropy(scores + biases, truth) + sum(weights * weights) * l2 * 0.5;
    feeds = {{"row", column(rows.row)},
             {"feature", column(rows.feature)},
             {"value", column(rows.value).to(DType::f64)},
             {"labels", Tensor::of({rows.rows}, labels)},
             {"l2", Tensor::scalar(DType::f64, 0)}};
  }

  Graph graph;
  Session session;
  std::vector<Variable> parameters;
  Value loss;
  NamedTensors feeds;
};

LogisticRegression::LogisticRegression(const SparseRows& rows, std::span<const std::int32_t> labels,
                                       std::int64_t features, std::int64_t classes, int threads)
    : classes_(static_cast<std::size_t>(classes)) {
  if (static_cast<std::int64_t>(labels.size()) != rows.rows || rows.rows == 0) {
    throw ArgumentError(fmt::format("{} labels do not match {} rows", labels.size(), rows.rows));
  }
  if (classes < 2) throw ArgumentError(fmt::format("classes must be at least 2, not {}", classes));
  if ((features + 1) * classes > std::numeric_limits<int>::max() - 16) {
    throw ArgumentError(fmt::format(
        "{} features and {} classes have too many parameters for L-BFGS, at most 2^31: drop rare "
        "features",
        features, classes));
  }
  loss_ = std::make_unique<Loss>(rows, labels, features, classes, threads);
  parameters_.assign(static_cast<std::size_t>((features + 1) * classes), 0);
}

LogisticRegression::~LogisticRegression() = default;

void LogisticRegression::fit(double l2) {
  if (!(l2 >= 0)) throw ArgumentError(fmt::format("l2 must not be negative: {}", l2));
  loss_->feeds.back().second = Tensor::scalar(DType::f64, l2);
  const LbfgsResult result =
      minimize(loss_->session, loss_->loss, loss_->parameters, loss_->feeds,
               {.max_iterations = 200, .gradient_tolerance = 1e-7, .change_tolerance = 0});
  parameters_ = flat_parameters(loss_->session, loss_->parameters).to_vector<double>();
  gradient_ = result.gradient_norm;
}

std::vector<std::int32_t> LogisticRegression::predict(const SparseRows& rows) const {
  const std::size_t classes = classes_, weights = parameters_.size() - classes_;
  std::vector<double> scores;
  for (std::int64_t r = 0; r < rows.rows; ++r)
    scores.insert(scores.end(), parameters_.begin() + static_cast<std::ptrdiff_t>(weights),
                  parameters_.end());
  for (std::size_t i = 0; i < rows.row.size(); ++i) {
    for (std::size_t c = 0; c < classes; ++c) {
      scores[static_cast<std::size_t>(rows.row[i]) * classes + c] +=
          static_cast<double>(rows.value[i]) *
          parameters_[static_cast<std::size_t>(rows.feature[i]) * classes + c];
    }
  }
  std::vector<std::int32_t> labels;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows.rows); ++r) {
    const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(r * classes);
    labels.push_back(static_cast<std::int32_t>(
        std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin));
  }
  return labels;
}

TextBaseline tfidf_baseline(const LabelledText& train, const LabelledText& test, std::uint64_t seed,
                            int folds, int threads) {
  constexpr double kL2[] = {1e-3, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7, 1e-7};
  const auto classes = static_cast<std::int64_t>(train.names.size());
  const std::vector<int> fold = folds_of(train.labels, folds, seed);
  std::vector<LabelledText> inside, outside;
  for (int f = 0; f < folds; ++f) {
    std::vector<std::int64_t> kept, left_out;
    for (std::size_t i = 0; i < fold.size(); ++i)
      (fold[i] == f ? left_out : kept).push_back(static_cast<std::int64_t>(i));
    inside.push_back(train.subset(kept));
    outside.push_back(train.subset(left_out));
  }
  TextBaseline best{{}, 0, -1, 0, ConfusionMatrix(train.names)};
  for (const bool punctuation : {false, true}) {
    for (const TermFrequency frequency : {TermFrequency::logarithmic, TermFrequency::binary}) {
      const TfIdfOptions options{.frequency = frequency, .punctuation = punctuation};
      std::vector<double> right(std::size(kL2), 0);
      for (std::size_t f = 0; f < inside.size(); ++f) {
        const TfIdf tfidf(inside[f].texts, options);
        const SparseRows rows = tfidf(inside[f].texts), others = tfidf(outside[f].texts);
        LogisticRegression model(rows, inside[f].labels, tfidf.features(), classes, threads);
        for (std::size_t l = 0; l < std::size(kL2); ++l) {
          model.fit(kL2[l]);
          const std::vector<std::int32_t> found = model.predict(others);
          for (std::size_t i = 0; i < found.size(); ++i)
            right[l] += found[i] == outside[f].labels[i] ? 1 : 0;
        }
      }
      for (std::size_t l = 0; l < std::size(kL2); ++l) {
        ++best.tried;
        const double accuracy = right[l] / static_cast<double>(train.size());
        if (accuracy <= best.validation_accuracy) continue;
        best.validation_accuracy = accuracy;
        best.features = options;
        best.l2 = kL2[l];
      }
    }
  }
  const TfIdf tfidf(train.texts, best.features);
  LogisticRegression model(tfidf(train.texts), train.labels, tfidf.features(), classes, threads);
  model.fit(best.l2);
  best.test.add(test.labels, model.predict(tfidf(test.texts)));
  return best;
}

}  // namespace weft
