// Samples of the operations in ops/linalg/cholesky.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// Returns diagonally dominant matrices, so that matrices perturbed for finite differences have
// Cholesky factors as well.
Tensor definite(const Sizes& sizes, std::uint64_t seed) {
  Tensor t = sample_uniform(sizes, seed, -0.25, 0.25);
  const std::int64_t n = sizes.back();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (i / n % n == i % n) t.mutable_data<float>()[i] += static_cast<float>(n);
  }
  return t;
}

std::vector<OpSample> cholesky_samples() {
  return {
      {{definite({4, 4}, 1)}, {}},
      {{definite({2, 3, 3}, 2)}, {}},
      {{definite({3, 1, 2, 2}, 3)}, {}},
      {{sample_uniform({5, 1, 1}, 4, 0.5, 2)}, {}},
      {{sample_uniform({2, 3, 3}, 5, 0.5, 2)}, {}},  // not positive definite
      {{definite({40, 40}, 6)}, {}},
      {{sample_uniform({0, 3, 3}, 7)}, {}},
      {{sample_uniform({2, 0, 0}, 8)}, {}},
  };
}

std::vector<OpErrorSample> cholesky_errors() {
  return {{{{DType::f32, {3, 4}}}, {}, "the rows and columns of x: 3 and 4 differ"},
          {{{DType::f32, {3}}}, {}, "x must have at least 2 axes, but f32[3] has 1"},
          {{{DType::i32, {3, 3}}}, {}, "x must be f32 or f64, but is i32"}};
}

std::vector<OpSample> pivots_samples() {
  const auto fine = [](const Sizes& sizes) { return Tensor::full(DType::i64, sizes, -1); };
  const Attributes indefinite{{"problem", std::string("not positive definite")}};
  const Attributes singular{{"problem", std::string("singular")}};
  return {{{sample_uniform({3, 4}, 1), fine({})}, indefinite},
          {{sample_uniform({2, 3, 3}, 2), fine({2})}, singular},
          {{sample_uniform({2, 0, 3, 1}, 3), fine({2, 0})}, singular}};
}

std::vector<OpErrorSample> pivots_errors() {
  const ValueType x{DType::f32, {2, 3, 3}}, failed{DType::i64, {2}};
  const Attributes singular{{"problem", std::string("singular")}};
  return {{{x, failed},
           {{"problem", std::string("odd")}},
           "problem must be 'not positive definite' or 'singular', but is 'odd'"},
          {{x, {DType::i64, {3}}}, singular, "failed must have shape [2], but has [3]"},
          {{x, {DType::f32, {2}}}, singular, "failed must be i64, but is f32"},
          {{{DType::f32, {3}}, failed}, singular, "x must have at least 2 axes"}};
}

}  // namespace

void add_samples(CholeskyOps, OpSamples& all) {
  all.add("cholesky", cholesky_samples, cholesky_errors);
  all.add("require_pivots", pivots_samples, pivots_errors);
}

}  // namespace weft
