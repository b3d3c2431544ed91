// Samples of the operations in ops/linalg/svd.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> svd_samples() {
  return {
      {{sample_uniform({5, 3}, 1)}, {}},
      {{sample_uniform({3, 6}, 2)}, {}},
      {{sample_uniform({2, 3, 3}, 33)}, {}},
      {{sample_uniform({2, 1, 4, 2}, 4)}, {}},
      {{sample_uniform({3, 1, 4}, 5)}, {}},
      {{sample_uniform({12, 9}, 6)}, {}},
      {{Tensor::zeros(DType::f32, {3, 2})}, {}, {0}},  // equal singular values
      {{sample_uniform({0, 3, 2}, 7)}, {}},
      {{sample_uniform({2, 3, 0}, 8)}, {}},
  };
}

std::vector<OpErrorSample> svd_errors() {
  return {{{{DType::f32, {3}}}, {}, "x must have at least 2 axes, but f32[3] has 1"},
          {{{DType::boolean, {3, 3}}}, {}, "x must be f32 or f64, but is bool"}};
}

}  // namespace

void add_samples(SvdOps, OpSamples& all) { all.add("svd", svd_samples, svd_errors); }

}  // namespace weft
