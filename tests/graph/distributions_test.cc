// Random distributions that are composed of primitive distributions.
#include "weft/graph/functions/random/distributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <numeric>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::check_error;
using testing::elements_of;

constexpr std::int64_t kDraws = 20000;

std::vector<double> values_of(Graph& g, const Value& v) {
  Session session(g, {.seed = 7, .threads = 1});
  return elements_of(session.run(Program("draw").output("v", v))["v"]);
}

/// Returns the Kolmogorov-Smirnov distance between the samples and a distribution function. It
/// exceeds 1.95 / sqrt(n) once in a thousand cases, but the samples in this test are always the
/// same.
double distance(std::vector<double> draws, const std::function<double(double)>& below) {
  std::sort(draws.begin(), draws.end());
  double worst = 0;
  const auto n = static_cast<double>(draws.size());
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double p = below(draws[i]);
    worst = std::max({worst, std::abs(p - static_cast<double>(i) / n),
                      std::abs(p - static_cast<double>(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

BOOST_AUTO_TEST_SUITE(distributions)

BOOST_AUTO_TEST_CASE(samples_follow_their_distributions) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    BOOST_TEST_CONTEXT(dtype_name(dtype)) {
      Graph g;
      const Value key = g.key("noise");
      const Shape n{kDraws};
      BOOST_TEST(distance(values_of(g, exponential(key, n, 2.5, dtype)),
                          [](double x) { return 1 - std::exp(-2.5 * x); }) < 1.95);
      BOOST_TEST(distance(values_of(g, gumbel(key, n, 3, 0.5, dtype)),
                          [](double x) { return std::exp(-std::exp(-(x - 3) / 0.5)); }) < 1.95);
      const std::vector<double> cut = values_of(g, truncated_normal(key, n, 1, 2, -1, 3, dtype));
      BOOST_TEST(distance(cut, [](double x) {
                   return (phi((x - 1) / 2) - phi(-1)) / (phi(3) - phi(-1));
                 }) < 1.95);
      BOOST_TEST(*std::min_element(cut.begin(), cut.end()) >= -1);
      BOOST_TEST(*std::max_element(cut.begin(), cut.end()) <= 7);
      // The bounds hardly truncate the distribution, and all samples must be finite.
      for (const double x : values_of(g, truncated_normal(key, n, 0, 1, -30, 30, dtype))) {
        BOOST_REQUIRE(std::abs(x) < 7);
      }
    }
  }
}

// For large bounds with few representable numbers between them, rounding must not reach the upper
// bound.
BOOST_AUTO_TEST_CASE(uniform_samples_are_below_the_upper_bound) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {1, 2}, {100, 101}, {-3, -1}, {-1, 1}, {0, 3}, {1e6, 1e6 + 1}, {-1e6, -1e6 + 0.125}}) {
    Graph g;
    const Value draws = uniform(g.key("noise"), Shape{1 << 20}, low, high);
    Session session(g, {.seed = 7});
    const Results r =
        session.run(Program("p").output("least", min(draws)).output("most", max(draws)));
    BOOST_TEST(r["least"].at(0) >= low);
    BOOST_TEST(r["most"].at(0) < high);
  }
}

BOOST_AUTO_TEST_CASE(far_tails_of_truncated_normals_have_the_expected_mean) {
  // The mean within [low, low + 1] is (phi(low) - phi(low + 1)) / (Phi(low + 1) - Phi(low)).
  for (const double low : {3.0, 4.0, 5.0, 6.0}) {
    const auto density = [](double x) {
      return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1));
    };
    const double mean = (density(low) - density(low + 1)) / (phi(-low) - phi(-low - 1));
    for (const double side : {1.0, -1.0}) {
      Graph g;
      const double from = side > 0 ? low : -low - 1;
      const std::vector<double> draws =
          values_of(g, truncated_normal(g.key("noise"), Shape{kDraws}, 0, 1, from, from + 1));
      const double found = std::accumulate(draws.begin(), draws.end(), 0.0) / kDraws;
      BOOST_TEST(std::abs(found - side * mean) < 0.01);
    }
  }
  // These bounds are so far in the tail that double precision cannot resolve it, so all samples
  // equal the nearer bound.
  Graph g;
  for (const double x : values_of(g, truncated_normal(g.key("noise"), Shape{9}, 0, 1, 9, 10)))
    BOOST_TEST(x == 9);
}

BOOST_AUTO_TEST_CASE(random_integers_permutations_and_categories_are_distributed_correctly) {
  Graph g;
  const Value key = g.key("noise");
  const std::vector<double> dice = values_of(g, random_integers(key, Shape{kDraws}, -2, 4));
  std::vector<int> counts(6);
  for (const double d : dice) ++counts.at(static_cast<std::size_t>(d + 2));
  for (const int c : counts) BOOST_TEST(std::abs(c - kDraws / 6.0) < 5 * std::sqrt(kDraws / 6.0));
  BOOST_TEST(random_integers(key, Shape{3}, 0, 9, DType::i32).type().str() == "i32[3]");

  std::vector<double> order = values_of(g, random_permutation(key, 1000));
  int moved = 0;
  for (std::size_t i = 0; i < order.size(); ++i) moved += order[i] != static_cast<double>(i);
  BOOST_TEST(moved > 950);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) BOOST_TEST(order[i] == static_cast<double>(i));
  BOOST_TEST(values_of(g, random_permutation(key, 0)).empty());

  // log(1), log(2), log(5), and the logit of a category that is never drawn.
  const Value logits =
      g.constant(Tensor::of<float>({4}, {0, std::log(2.0F), std::log(5.0F), -INFINITY}));
  const std::vector<double> ids =
      values_of(g, categorical(key, broadcast_to(logits, Shape{kDraws, 4})));
  std::vector<int> drawn(4);
  for (const double id : ids) ++drawn.at(static_cast<std::size_t>(id));
  const double wanted[] = {1 / 8.0, 2 / 8.0, 5 / 8.0, 0};
  for (std::size_t i = 0; i < 4; ++i)
    BOOST_TEST(std::abs(drawn[i] - wanted[i] * kDraws) <= 5 * std::sqrt(wanted[i] * kDraws));
}

BOOST_AUTO_TEST_CASE(erfinv_inverts_erf_and_has_derivatives) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n"}), y = g.input("y", DType::f32, {"n"});
  std::vector<double> points, wanted;
  for (const double z : {-3.5, -2.0, -1.3, -0.2, -1e-3, 0.0, 1e-8, 0.4, 0.9, 1.7, 3.0}) {
    wanted.push_back(z);
    points.push_back(std::erf(z));
  }
  std::vector<float> narrow(points.begin(), points.end());
  const auto n = static_cast<std::int64_t>(points.size());
  Session session(g, {.threads = 1});
  const Results r =
      session.run(Program("p").output("d", erfinv(x)).output("f", erfinv(y)),
                  {{"x", Tensor::of<double>({n}, points)}, {"y", Tensor::of<float>({n}, narrow)}});
  for (std::int64_t i = 0; i < n; ++i) {
    const double z = wanted[static_cast<std::size_t>(i)];
    // The error caused by rounding the argument, plus 4 units in the last place.
    const double slope = std::sqrt(std::acos(-1.0)) / 2 * std::exp(z * z);
    BOOST_TEST(std::abs(r["d"].at(i) - z) <= 4 * 0x1p-53 * (std::abs(z) + slope));
    BOOST_TEST(std::abs(r["f"].at(i) - z) <= 4 * 0x1p-24 * (std::abs(z) + slope));
  }
  const Tensor ends = Tensor::of<double>({4}, {-1, 1, 1.5, NAN});
  const Results e = session.run(Program("ends").output("d", erfinv(x)), {{"x", ends}});
  BOOST_TEST(e["d"].at(0) == -INFINITY);
  BOOST_TEST(e["d"].at(1) == INFINITY);
  BOOST_TEST(std::isnan(e["d"].at(2)));
  BOOST_TEST(std::isnan(e["d"].at(3)));
  // y' = sqrt(pi) / 2 exp(y^2), y'' = 2 y y'^2.
  const Tensor inside = Tensor::of<double>({6}, {-0.999, -0.9, 0, 0.2, 0.5, 0.99});
  const Value first = gradient(sum(erfinv(x)), x);
  const Results d = session.run(Program("derivatives")
                                    .output("y", erfinv(x))
                                    .output("first", first)
                                    .output("second", gradient(sum(first), x)),
                                {{"x", inside}});
  for (int i = 0; i < 6; ++i) {
    const double at = d["y"].at(i), slope = std::sqrt(std::acos(-1.0)) / 2 * std::exp(at * at);
    BOOST_TEST(std::abs(d["first"].at(i) - slope) < 1e-9 * slope);
    BOOST_TEST(std::abs(d["second"].at(i) - 2 * at * slope * slope) < 1e-4 * slope * slope);
  }
}

BOOST_AUTO_TEST_CASE(errors_name_the_bounds) {
  Graph g;
  const Value key = g.key("noise");
  check_error<ArgumentError>([&] { exponential(key, Shape{2}, 0); },
                             {"rate must be positive, but is 0", "distributions_test.cc"});
  check_error<ArgumentError>(
      [&] { uniform(key, Shape{2}, 1, 0.5); },
      {"uniform: low must be at most high", "low and high are 1 and 0.5", "distributions_test.cc"});
  check_error<ArgumentError>([&] { uniform(key, Shape{2}, -1e308, 1e308, DType::f64); },
                             {"high - low must be finite"});
  check_error<ArgumentError>([&] { gumbel(key, Shape{2}, 0, -1); },
                             {"scale must be positive, but is -1"});
  check_error<ArgumentError>([&] { random_integers(key, Shape{2}, 3, 3); }, {"[3, 3) is empty"});
  const std::int64_t end = std::int64_t{1} << 31;
  BOOST_TEST(random_integers(key, Shape{3}, -end, end, DType::i32).type().str() == "i32[3]");
  check_error<ArgumentError>([&] { random_integers(key, Shape{2}, 0, end + 1, DType::i32); },
                             {"i32 if it can represent all of [0, 2147483649), but is i32"});
  check_error<ArgumentError>([&] { random_integers(key, Shape{2}, 0, 5, DType::f32); },
                             {"dtype must be i64", "but is f32"});
  check_error<ArgumentError>([&] { truncated_normal(key, Shape{2}, 0, 1, 2, 1); },
                             {"low must be below high", "2, 1 and 1"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
