// Samples of the operations in ops/products/matmul.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](Sizes a, Sizes b, bool ta = false, bool tb = false) {
    samples.push_back({{sample_uniform(std::move(a), 21), sample_uniform(std::move(b), 22)},
                       {{"transpose_a", ta}, {"transpose_b", tb}}});
  };
  add({3, 4}, {4, 5});
  add({1, 1}, {1, 1});
  add({7, 3}, {7, 2}, true, false);
  add({5, 6}, {7, 6}, false, true);
  add({3, 6}, {2, 3}, true, true);
  add({2, 3, 4}, {4, 5});
  add({2, 4, 3}, {4, 5}, true, false);
  add({2, 3}, {3, 3, 2});
  add({2, 1, 3, 2}, {3, 2, 4});
  add({2, 1, 3, 2}, {1, 3, 4, 2}, false, true);
  add({2, 0, 3}, {3, 2});
  add({2, 0}, {0, 3});
  add({0, 3}, {3, 0});
  // Adds samples with 16-bit operands. These operands are excluded from gradient checks, because
  // finite differences are meaningless at their precision.
  const auto add_narrow = [&](DType a, DType b, Sizes a_sizes, Sizes b_sizes, bool tb,
                              std::vector<int> skip) {
    samples.push_back({{sample_uniform(std::move(a_sizes), 23).to(a),
                        sample_uniform(std::move(b_sizes), 24).to(b)},
                       {{"transpose_b", tb}}});
    samples.back().skip_gradient = std::move(skip);
  };
  add_narrow(DType::f32, DType::bf16, {9, 20}, {11, 20}, true, {1});
  add_narrow(DType::f16, DType::f32, {2, 20}, {20, 11}, false, {0});
  return samples;
}

std::vector<OpErrorSample> matmul_errors() {
  const Attributes none, tb{{"transpose_b", true}};
  const auto f32 = DType::f32;
  return {
      {{{f32, {2, 3}}, {f32, {4, 5}}},
       none,
       "the summed axes of a (axis 1) and b (axis 0): 3 and 4 differ"},
      {{{f32, {2, 3}}, {f32, {3, 5}}},
       tb,
       "the summed axes of a (axis 1) and b (axis 1): 3 and 5 differ"},
      {{{f32, {3}}, {f32, {3, 5}}}, none, "a must have at least 2 axes, but f32[3] has 1"},
      {{{f32, {2, 3}}, {f32, {3}}}, none, "b must have at least 2 axes, but f32[3] has 1"},
      {{{f32, {2, 3}}, {DType::f64, {3, 5}}}, none, "different dtypes, f32 and f64"},
      {{{DType::i64, {2, 3}}, {DType::i64, {3, 5}}},
       none,
       "a must be f32, f64, bf16 or f16, but is i64"},
      {{{f32, {2, 2, 3}}, {f32, {4, 3, 5}}}, none, "shapes [2] and [4] do not broadcast"},
      {{{f32, {2, 3}}, {f32, {3, 5}}},
       {{"precision", std::string("low")}},
       "unknown precision 'low'; available: highest, high, medium"},
  };
}

}  // namespace

void add_samples(MatmulOps, OpSamples& all) { all.add("matmul", matmul_samples, matmul_errors); }

}  // namespace weft
