#include "weft/models/tasks/text_classification/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

namespace weft {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add_scaled(Vector& to, double scale, const Vector& x) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += scale * x[i];
}

double largest(const Vector& x) {
  double result = 0;
  for (const double v : x) result = std::max(result, std::abs(v));
  return result;
}

struct Pair {
  Vector step, change;  // differences of x and of the gradient
  double product;       // dot(step, change); positive
};

/// Returns -H g, computed with the two-loop recursion.
Vector direction(const Vector& gradient, const std::deque<Pair>& pairs) {
  Vector d = gradient;
  Vector alphas(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alphas[i] = dot(pairs[i].step, d) / pairs[i].product;
    add_scaled(d, -alphas[i], pairs[i].change);
  }
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    const double scale = last.product / dot(last.change, last.change);
    for (double& v : d) v *= scale;
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double beta = dot(pairs[i].change, d) / pairs[i].product;
    add_scaled(d, alphas[i] - beta, pairs[i].step);
  }
  for (double& v : d) v = -v;
  return d;
}

}  // namespace

LbfgsResult minimise_lbfgs(const std::function<double(const Vector&, Vector&)>& evaluate,
                           Vector start, const LbfgsOptions& options) {
  LbfgsResult result{.x = std::move(start)};
  Vector gradient(result.x.size());
  result.value = evaluate(result.x, gradient);
  result.evaluations = 1;
  std::deque<Pair> pairs;
  while (result.iterations < options.iterations && largest(gradient) > options.tolerance) {
    Vector d = direction(gradient, pairs);
    double slope = dot(d, gradient);
    if (!(slope < 0)) break;
    // In the first iteration, there is no curvature information, so limit the step length to 1.
    double rate = pairs.empty() ? std::min(1.0, 1 / std::sqrt(dot(gradient, gradient))) : 1;
    Vector x, next(result.x.size());
    double value = 0;
    bool found = false;
    for (int halvings = 0; halvings < 30 && !found; ++halvings, rate /= 2) {
      x = result.x;
      add_scaled(x, rate, d);
      value = evaluate(x, next);
      ++result.evaluations;
      found = value <= result.value + 1e-4 * rate * slope;
    }
    if (!found) break;
    Pair pair{x, next, 0};
    add_scaled(pair.step, -1, result.x);
    add_scaled(pair.change, -1, gradient);
    pair.product = dot(pair.step, pair.change);
    if (pair.product > 1e-12 * dot(pair.change, pair.change)) pairs.push_back(std::move(pair));
    if (static_cast<std::int64_t>(pairs.size()) > options.memory) pairs.pop_front();
    result.x = std::move(x);
    result.value = value;
    gradient = std::move(next);
    ++result.iterations;
  }
  result.gradient = largest(gradient);
  return result;
}

}  // namespace weft
