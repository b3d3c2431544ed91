// In-context linear regression: the reference solvers are correct, and a decoder learns the task.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/regression.h"
#include "weft/tests/support/numbers.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(regression)
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Solves a w = b for w by Gaussian elimination with partial pivoting.
std::vector<double> solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < n; ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = c + 1; r < n; ++r) {
      const double factor = a[r][c] / a[c][c];
      for (std::size_t i = c; i < n; ++i) a[r][i] -= factor * a[c][i];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = n; c-- > 0;) {
    for (std::size_t i = c + 1; i < n; ++i) b[c] -= a[c][i] * b[i];
    b[c] /= a[c][c];
  }
  return b;
}

/// Returns ridge regression predictions computed from the normal equations. The prediction for each
/// point is fitted to all previous points.
std::vector<double> by_normal_equations(const Tensor& x, const Tensor& y, double penalty) {
  const auto points = static_cast<std::size_t>(x.size(1)), d = static_cast<std::size_t>(x.size(2));
  const auto at = [&](std::size_t point, std::size_t i) {
    return x.at(static_cast<std::int64_t>(point * d + i));
  };
  std::vector<double> out;
  for (std::size_t k = 0; k < points; ++k) {
    Matrix a(d, std::vector<double>(d, 0));
    std::vector<double> b(d, 0);
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        a[i][j] = i == j ? penalty : 0;
        for (std::size_t p = 0; p < k; ++p) a[i][j] += at(p, i) * at(p, j);
      }
      for (std::size_t p = 0; p < k; ++p) b[i] += at(p, i) * y.at(static_cast<std::int64_t>(p));
    }
    const std::vector<double> w = solve(a, b);
    double prediction = 0;
    for (std::size_t i = 0; i < d; ++i) prediction += at(k, i) * w[i];
    out.push_back(prediction);
  }
  return out;
}

BOOST_AUTO_TEST_CASE(solvers_match_the_normal_equations_over_earlier_points) {
  const RegressionTask task{.inputs = 3, .points = 9, .noise = 0.3};
  Graph g;
  const Regressions drawn = draw_regressions(g.key("draw"), 1, task);
  const Program program = Program("p")
                              .output("x", cast(drawn.x, DType::f64))
                              .output("y", cast(drawn.y, DType::f64))
                              .output("least squares", least_squares_predictions(drawn.x, drawn.y))
                              .output("ridge", ridge_predictions(drawn.x, drawn.y, 0.09));
  Session session(g, {.seed = 6});
  const Results found = session.run(program);
  const std::vector<double> ridge = by_normal_equations(found["x"], found["y"], 0.09),
                            tiny = by_normal_equations(found["x"], found["y"], 1e-9);
  for (std::size_t k = 0; k < 9; ++k) {
    const auto point = static_cast<std::int64_t>(k);
    BOOST_TEST(std::abs(found["ridge"].at(point) - ridge[k]) < 1e-5);
    // This also holds if there are fewer points than inputs, because the minimum-norm w is the
    // limit of ridge regression for small penalties.
    BOOST_TEST(std::abs(found["least squares"].at(point) - tiny[k]) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(noiseless_least_squares_is_exact_once_there_are_as_many_points_as_inputs) {
  RegressionExperiment experiment({.task = {.inputs = 4, .points = 8}, .decoder = {.layers = 1}});
  const RegressionErrors found = experiment.evaluate(1);
  BOOST_TEST(found.ridge.empty());
  for (std::size_t k = 0; k < 8; ++k) {
    BOOST_TEST(std::abs(found.zero[k] - 1) < 0.25);
    // Each observed point determines one of the 4 dimensions of w.
    const double expected = std::max(0.0, 1 - static_cast<double>(k) / 4);
    BOOST_TEST(std::abs(found.least_squares[k] - expected) < (k < 4 ? 0.25 : 1e-6));
  }
}

BOOST_AUTO_TEST_CASE(ridge_regression_has_the_lowest_error_for_noisy_targets) {
  RegressionExperiment experiment(
      {.task = {.inputs = 3, .points = 10, .noise = 0.7}, .decoder = {.layers = 1}});
  const RegressionErrors found = experiment.evaluate(4096);
  for (std::size_t k = 1; k < 10; ++k) {
    BOOST_TEST(found.ridge[k] < found.least_squares[k]);
    BOOST_TEST(found.ridge[k] < found.zero[k]);
    BOOST_TEST(found.ridge[k] < found.decoder[k]);
  }
}

// A short training run. The zoo program trains until the decoder is as good as the solvers.
BOOST_AUTO_TEST_CASE(a_decoder_learns_in_context_regression) {
  const RegressionExperiment::Options options = {
      .task = {.inputs = 1, .points = 6, .noise = 0.3},
      .decoder = {.width = 32, .layers = 2, .heads = 2, .rotary = true},
      .batch = 64,
      // Length of the learning-rate schedule. The test stops earlier, while the rate is still high.
      .steps = 2000,
      .learning_rate = 2e-3};
  RegressionExperiment experiment(options);
  for (std::int64_t step = 0; step < 1000; ++step) experiment.train();
  const RegressionErrors found = experiment.evaluate(2048);
  BOOST_TEST(found.decoder[0] < 1.1 * found.zero[0]);  // no point has been observed yet
  BOOST_TEST(found.decoder[1] < 0.75);
  BOOST_TEST(found.decoder[5] < 0.45);
  BOOST_TEST(found.decoder[5] < found.decoder[1] - 0.15);
  for (std::size_t k = 0; k < 6; ++k) BOOST_TEST(found.decoder[k] > 0.98 * found.ridge[k]);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
