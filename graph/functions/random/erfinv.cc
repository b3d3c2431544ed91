#include <array>
#include <limits>
#include <numbers>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

template <std::size_t n>
Value polynomial(const std::array<double, n>& coefficients, const Value& x) {
  Value sum = x * coefficients[0] + coefficients[1];
  for (std::size_t i = 2; i < n; ++i) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

Value erfinv(Arg x) {
  const Value v = x.value("erfinv");
  const Graph::Frame frame(v.graph(), "erfinv", x.location());
  // M. Giles, "Approximating the erfinv function" (2010): two polynomials of w, relative error
  // 3.5e-7. The argument of each is clamped to its own range, so that the derivative of the one
  // that is not selected is never 0 * inf.
  const Value w = -log((1 - v) * (1 + v));
  const Value middle =
      polynomial<9>({2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                     -0.00125372503, -0.00417768164, 0.246640727, 1.50140941},
                    minimum(w, 5.0) - 2.5);
  const Value tail =
      polynomial<9>({-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682},
                    sqrt(maximum(w, 5.0)) - 3);
  Value y = v * where(less(w, 5.0), middle, tail);
  if (v.dtype() == DType::f64) {
    // One step of Halley's method, which converges cubically.
    const Value r = (erf(y) - v) * exp(minimum(square(y), 700.0)) / (2 * std::numbers::inv_sqrtpi);
    y = y - r / (1 + y * r);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return where(equal(v, 1.0), kInfinity, where(equal(v, -1.0), -kInfinity, y));
}

}  // namespace weft
