// Samples of the operations in ops/sequence/rope.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes rope_attributes(std::int64_t rotary, bool adjacent, bool inverse, double base = 100) {
  return {{"rotary_dim", rotary}, {"base", base}, {"adjacent", adjacent}, {"inverse", inverse}};
}

std::vector<OpSample> rope_samples() {
  const Tensor shared = Tensor::of<std::int32_t>({5}, {0, 1, 2, 7, 100});
  return {{{sample_uniform({2, 3, 5, 8}, 1), sample_indices({2, 5}, 2, 50)},
           rope_attributes(8, false, false)},
          {{sample_uniform({2, 1, 5, 9}, 3), shared}, rope_attributes(6, true, false)},
          {{sample_uniform({1, 2, 5, 7}, 4), shared}, rope_attributes(4, false, true)},
          {{sample_uniform({1, 2, 5, 6}, 4), shared}, rope_attributes(6, true, true)},
          {{sample_uniform({1, 2, 5, 3}, 4), shared}, rope_attributes(0, false, false)},
          {{sample_uniform({0, 2, 5, 6}, 4), shared}, rope_attributes(6, false, false)},
          {{sample_uniform({1, 2, 0, 6}, 4), Tensor::zeros(DType::i64, {0})},
           rope_attributes(6, false, false)}};
}

std::vector<OpErrorSample> rope_errors() {
  const ValueType x{DType::f32, {2, 3, 5, 8}}, positions{DType::i64, {2, 5}};
  return {
      {{x, {DType::i64, {3, 5}}},
       rope_attributes(8, false, false),
       "positions must have shape [batch, length] = [2, 5] or [length] = [5], but has [3, 5]"},
      {{x, {DType::f32, {5}}}, rope_attributes(8, false, false), "positions must be i32 or i64"},
      {{x, positions},
       rope_attributes(7, false, false),
       "rotary_dim must be even and at most the head size 8, but is 7"},
      {{x, positions}, rope_attributes(10, false, false), "at most the head size 8, but is 10"},
      {{x, positions}, rope_attributes(8, false, false, 0), "base must be positive, but is 0"},
      {{{DType::f32, {2, 5, 8}}, positions},
       rope_attributes(8, false, false),
       "x must have 4 axes"}};
}

}  // namespace

void add_samples(RopeOps, OpSamples& all) { all.add("rope", rope_samples, rope_errors); }

}  // namespace weft
