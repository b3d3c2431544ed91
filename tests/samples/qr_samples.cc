// Samples of the operations in ops/linalg/qr.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> qr_samples() {
  return {
      {{sample_uniform({5, 3}, 1)}, {}},    {{sample_uniform({2, 6, 2}, 2)}, {}},
      {{sample_uniform({4, 4}, 3)}, {}},    {{sample_uniform({3, 1, 3, 1}, 4)}, {}},
      {{sample_uniform({40, 20}, 5)}, {}},  {{sample_uniform({0, 3, 2}, 6)}, {}},
      {{sample_uniform({2, 3, 0}, 7)}, {}}, {{sample_uniform({2, 0, 0}, 8)}, {}},
  };
}

std::vector<OpErrorSample> qr_errors() {
  return {{{{DType::f32, {2, 3, 4}}},
           {},
           "x must have at least as many rows as columns, but has 3 and 4"},
          {{{DType::f32, {3}}}, {}, "x must have at least 2 axes, but f32[3] has 1"},
          {{{DType::i64, {3, 3}}}, {}, "x must be f32 or f64, but is i64"}};
}

}  // namespace

void add_samples(QrOps, OpSamples& all) { all.add("qr", qr_samples, qr_errors); }

}  // namespace weft
