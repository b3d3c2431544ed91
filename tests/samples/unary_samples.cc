// Samples of the operations in ops/elementwise/unary.cc.
#include <cmath>
#include <limits>

#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/unary.h"
#include "weft/tests/samples/op_samples.h"

namespace weft {
namespace {

using elementwise::sample_values;

/// Returns samples with values in [low, high].
std::vector<OpSample> unary_samples(double low, double high) {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const Sizes& sizes : {Sizes{7}, Sizes{}, Sizes{2, 3}, Sizes{0, 4}, Sizes{17}}) {
    result.push_back({{sample_values(sizes, low, high, seed++)}, {}});
  }
  return result;
}

std::vector<OpSample> isfinite_samples() {
  const float inf = std::numeric_limits<float>::infinity();
  return {{{Tensor::of<float>({5}, {0.0f, inf, -inf, NAN, 1e38f})}, {}},
          {{Tensor::zeros(DType::f32, {0})}, {}}};
}

std::vector<OpSample> logical_not_samples() {
  return {{{Tensor::of<bool>({3}, {true, false, true})}, {}},
          {{Tensor::zeros(DType::boolean, {2, 0})}, {}}};
}

std::vector<OpSample> clamp_samples() {
  return {{{sample_values({11}, -2, 2, 1)}, {{"lo", -0.5}, {"hi", 1.0}}},
          {{sample_values({2, 3}, -2, 2, 2)}, {{"lo", 0.0}}},
          {{sample_values({5}, -2, 2, 3)}, {{"hi", 0.5}}},
          {{sample_values({}, -2, 2, 4)}, {}},
          {{sample_values({0, 2}, -2, 2, 5)}, {{"lo", -1.0}, {"hi", 1.0}}}};
}

std::vector<OpErrorSample> unary_number_errors() {
  return {{{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"},
          {{{DType::bf16, {2}}}, {}, "but is bf16; convert it with cast()"}};
}

std::vector<OpErrorSample> unary_floating_errors() {
  return {{{{DType::i32, {2}}}, {}, "x must be f32 or f64, but is i32"},
          {{{DType::boolean, {2}}}, {}, "x must be f32 or f64, but is bool"}};
}

std::vector<OpErrorSample> logical_not_errors() {
  return {{{{DType::f32, {2}}}, {}, "x must be bool, but is f32"}};
}

std::vector<OpErrorSample> clamp_errors() {
  return {{{{DType::f32, {2}}}, {{"lo", 2.0}, {"hi", 1.0}}, "lo must be at most hi, but lo is 2"},
          {{{DType::f32, {2}}}, {{"lo", std::nan("")}}, "lo must be at most hi, but lo is nan"},
          {{{DType::i8, {2}}}, {{"lo", 300.0}}, "no i8 value (-128 to 127) is between lo = 300"},
          {{{DType::u8, {2}}}, {{"hi", -1.0}}, "no u8 value (0 to 255) is between"},
          {{{DType::i32, {2}}}, {{"lo", 0.2}, {"hi", 0.8}}, "is between lo = 0.2 and hi = 0.8"},
          {{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"}};
}

}  // namespace

void add_samples(UnaryOps, OpSamples& all) {
  for (const kernels::UnaryOp& op : kernels::unary_ops()) {
    all.add(
        op.name, [low = op.low, high = op.high] { return unary_samples(low, high); },
        op.row(DType::i32) != nullptr ? unary_number_errors : unary_floating_errors);
  }
  all.add("logical_not", logical_not_samples, logical_not_errors);
  all.add("isfinite", isfinite_samples, unary_floating_errors);
  all.add("clamp", clamp_samples, clamp_errors);
}

}  // namespace weft
