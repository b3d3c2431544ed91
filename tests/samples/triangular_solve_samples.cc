// Samples of the operations in ops/linalg/triangular_solve.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes of_triangle(bool upper, bool transpose, bool unit) {
  return {{"upper", upper}, {"transpose", transpose}, {"unit_diagonal", unit}};
}

// All elements have the same sign and are not close to 0, so that solutions do not grow much.
std::vector<Tensor> system(const Sizes& t, const Sizes& b, std::uint64_t seed) {
  return {sample_uniform(t, seed, 0.5, 1.5), sample_uniform(b, seed + 1)};
}

std::vector<OpSample> solve_samples() {
  return {
      {system({4, 4}, {4, 2}, 1), of_triangle(false, false, false)},
      {system({2, 3, 3}, {2, 3, 5}, 3), of_triangle(true, false, false)},
      {system({5, 5}, {5, 1}, 5), of_triangle(false, true, false)},
      {system({3, 1, 4, 4}, {3, 1, 4, 2}, 7), of_triangle(true, true, false)},
      {system({4, 4}, {4, 3}, 9), of_triangle(false, false, true)},
      {system({2, 3, 3}, {2, 3, 2}, 11), of_triangle(true, true, true)},
      {system({6, 6}, {6, 130}, 13), of_triangle(false, true, false)},
      {{Tensor::zeros(DType::f32, {2, 2, 2}), sample_uniform({2, 2, 3}, 15)},  // singular
       of_triangle(false, false, false)},
      {system({2, 0, 0}, {2, 0, 3}, 17), of_triangle(false, false, false)},
      {system({2, 3, 3}, {2, 3, 0}, 19), of_triangle(true, false, false)},
  };
}

std::vector<OpErrorSample> solve_errors() {
  const ValueType t{DType::f32, {2, 3, 3}}, b{DType::f32, {2, 3, 4}};
  const Attributes lower = of_triangle(false, false, false);
  return {
      {{{DType::f32, {2, 3, 4}}, b}, lower, "the rows and columns of t: 3 and 4 differ"},
      {{t, {DType::f32, {2, 4, 3}}}, lower, "the size of t and the rows of b: 3 and 4 differ"},
      {{t, {DType::f32, {3, 3, 4}}},
       lower,
       "t and b must have the same axes before the last two, but [2] and [3] differ"},
      {{{DType::f32, {3, 3}}, {DType::f32, {3}}},
       lower,
       "b must have at least 2 axes, but f32[3] has 1"},
      {{t, {DType::f64, {2, 3, 4}}}, lower, "operands have different dtypes, f32 and f64"},
  };
}

}  // namespace

void add_samples(TriangularSolveOps, OpSamples& all) {
  all.add("triangular_solve", solve_samples, solve_errors);
}

}  // namespace weft
