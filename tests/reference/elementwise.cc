#include "weft/tests/reference/elementwise.h"

#include <map>

namespace weft::testing {
namespace {

using Real = long double;

constexpr Real kSqrtHalf = 0.707106781186547524400844362104849039L;
constexpr Real kTwiceSqrtTwoOverPi = 2 * 0.797884560802865355879892119868763737L;

Real sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

Real softplus(Real x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// x * gate(x), including its limit at -infinity.
template <class Gate>
Oracle gated(Gate gate) {
  return [gate](Real x) { return std::isinf(x) && x < 0 ? -0.0L : x * gate(x); };
}

const std::map<std::string, Oracle>& table() {
  static const std::map<std::string, Oracle> oracles = {
      {"neg", [](Real x) { return -x; }},
      {"abs", [](Real x) { return std::fabs(x); }},
      {"sign", [](Real x) { return x > 0   ? 1
                                   : x < 0 ? -1
                                           : x; }},
      {"square", [](Real x) { return x * x; }},
      {"sqrt", [](Real x) { return std::sqrt(x); }},
      {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](Real x) { return 1 / x; }},
      {"floor", [](Real x) { return std::floor(x); }},
      {"ceil", [](Real x) { return std::ceil(x); }},
      {"round", [](Real x) { return std::nearbyint(x); }},
      {"relu", [](Real x) { return x < 0 ? 0 : x; }},
      {"exp", [](Real x) { return std::exp(x); }},
      {"log", [](Real x) { return std::log(x); }},
      {"log1p", [](Real x) { return std::log1p(x); }},
      {"expm1", [](Real x) { return std::expm1(x); }},
      {"sin", [](Real x) { return std::sin(x); }},
      {"cos", [](Real x) { return std::cos(x); }},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"erf", [](Real x) { return std::erf(x); }},
      {"sigmoid", sigmoid},
      {"softplus", softplus},
      {"silu", gated(sigmoid)},
      {"hardswish", gated([](Real x) { return std::fmin(std::fmax(x + 3, 0.0L), 6.0L) / 6; })},
      {"gelu_erf", gated([](Real x) { return std::erfc(-x * kSqrtHalf) / 2; })},
      {"gelu_tanh",
       gated([](Real x) { return sigmoid(kTwiceSqrtTwoOverPi * x * (1 + 0.044715L * x * x)); })},
  };
  return oracles;
}

}  // namespace

Oracle unary_oracle(const std::string& op) { return table().at(op); }

std::int64_t broadcast_position(std::int64_t i, const Sizes& from, const Sizes& to) {
  std::int64_t position = 0, stride = 1;
  for (std::size_t k = 0; k < to.size(); ++k) {  // starting at the last axis
    const std::int64_t index = i % to[to.size() - 1 - k];
    i /= to[to.size() - 1 - k];
    if (k >= from.size()) continue;
    const std::int64_t size = from[from.size() - 1 - k];
    if (size != 1) position += index * stride;
    stride *= size;
  }
  return position;
}

}  // namespace weft::testing
