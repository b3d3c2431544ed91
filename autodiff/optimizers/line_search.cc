#include "weft/autodiff/optimizers/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

// Returns the minimiser of the cubic polynomial with the losses and slopes of both points, or NaN
// if the polynomial has no minimum (Nocedal and Wright, equation 3.59).
double cubic_minimiser(const LinePoint& a, const LinePoint& b) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return std::nan("");
  const double d2 = std::copysign(std::sqrt(square), b.t - a.t);
  return b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
}

class Search {
 public:
  Search(const LinePoint& start, const WolfeConditions& conditions, std::int64_t evaluations,
         FunctionRef<LinePoint(double t)> evaluate)
      : start_(start), conditions_(conditions), left_(evaluations), evaluate_(evaluate) {}

  LinePoint run(double first) {
    // `low` has the smallest loss among the points with sufficient decrease.
    LinePoint low = start_;
    for (double t = first; left_ > 0;) {
      LinePoint now = next(t);
      if (is_acceptable(now)) return now;
      if (!decreases(now) || now.loss >= low.loss) return zoom(std::move(low), std::move(now));
      if (now.slope >= 0) return zoom(std::move(now), std::move(low));
      const double guess = cubic_minimiser(low, now);
      const double least = now.t + 0.1 * (now.t - low.t), most = 10 * now.t;
      t = std::isfinite(guess) ? std::clamp(guess, least, most) : most;
      low = std::move(now);
    }
    return low;
  }

 private:
  LinePoint next(double t) {
    --left_;
    return evaluate_(t);
  }
  bool decreases(const LinePoint& p) const {
    return p.is_finite() && p.loss <= start_.loss + conditions_.c1 * p.t * start_.slope;
  }
  bool is_acceptable(const LinePoint& p) const {
    return decreases(p) && std::abs(p.slope) <= -conditions_.c2 * start_.slope;
  }

  // The interval between `low` and `high` contains points that meet both conditions. `low` has the
  // smallest loss so far, and its slope points towards `high`.
  LinePoint zoom(LinePoint low, LinePoint high) {
    double before_last = HUGE_VAL, last = HUGE_VAL;  // lengths of the previous intervals
    while (left_ > 0) {
      const double length = std::abs(high.t - low.t);
      double t = next_trial(low, high, length > 0.66 * before_last);
      if (t == low.t || t == high.t) break;  // there is no number between them
      LinePoint now = next(t);
      if (is_acceptable(now)) return now;
      if (!decreases(now) || now.loss >= low.loss) {
        high = std::move(now);
      } else {
        if (now.slope * (high.t - low.t) >= 0) high = std::move(low);
        low = std::move(now);
      }
      before_last = std::exchange(last, length);
    }
    return low;
  }

  static double next_trial(const LinePoint& low, const LinePoint& high, bool is_slow) {
    const double length = high.t - low.t;
    // The function is far from a polynomial here, so shrink the interval quickly.
    if (!high.is_finite()) return low.t + 0.1 * length;
    const double guess = is_slow ? std::nan("") : (cubic_minimiser(low, high) - low.t) / length;
    return low.t + length * (std::isfinite(guess) ? std::clamp(guess, 0.1, 0.9) : 0.5);
  }

  const LinePoint& start_;
  const WolfeConditions conditions_;
  std::int64_t left_;
  FunctionRef<LinePoint(double t)> evaluate_;
};

}  // namespace

bool LinePoint::is_finite() const {
  return std::isfinite(loss) && std::isfinite(slope) &&
         std::all_of(gradient.begin(), gradient.end(), [](double g) { return std::isfinite(g); });
}

LinePoint strong_wolfe(const LinePoint& start, double first, const WolfeConditions& conditions,
                       std::int64_t evaluations, FunctionRef<LinePoint(double t)> evaluate) {
  return Search(start, conditions, evaluations, evaluate).run(first);
}

}  // namespace weft
