// Samples of the operations in ops/indexing/shape.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes order(std::vector<std::int64_t> axes) { return {{"order", std::move(axes)}}; }

std::vector<OpSample> reshape_samples() {
  return {
      {{sample_uniform({2, 6}, 1)}, {{"shape", Shape{3, 4}}}},
      {{sample_uniform({4}, 2)}, {{"shape", Shape{2, 1, 2}}}},
      {{sample_uniform({1, 1}, 3)}, {{"shape", Shape{}}}},
      {{sample_uniform({0, 3}, 4)}, {{"shape", Shape{5, 0}}}},
      {{sample_indices({6}, 5, 9)}, {{"shape", Shape{2, 3}}}},
  };
}

std::vector<OpErrorSample> reshape_errors() {
  return {
      {{{DType::f32, {2, 3}}},
       {{"shape", Shape{4}}},
       "cannot reshape [2, 3] to [4]: 6 and 4 elements"},
      {{{DType::f32, {2}}}, {{"shape", Shape{-1, -2}}}, "sizes must not be negative"},
  };
}

std::vector<OpSample> permute_samples() {
  return {
      {{sample_uniform({3, 5}, 1)}, order({1, 0})},
      {{sample_uniform({2, 3, 4}, 2)}, order({2, 0, 1})},
      {{sample_uniform({2, 3, 2, 2}, 3)}, order({0, 2, 1, 3})},
      {{sample_uniform({}, 4)}, order({})},
      {{sample_uniform({0, 3}, 5)}, order({1, 0})},
      {{sample_indices({2, 3}, 6, 9)}, order({1, 0})},
  };
}

std::vector<OpErrorSample> permute_errors() {
  return {
      {{{DType::f32, {2, 3}}}, order({0, 0}), "order [0, 0] must contain each of the 2 axes"},
      {{{DType::f32, {2, 3}}},
       order({1}),
       "order [1] must contain each of the 2 axes of f32[2, 3] once"},
  };
}

std::vector<OpSample> broadcast_to_samples() {
  return {
      {{sample_uniform({3, 1}, 1)}, {{"shape", Shape{3, 5}}}},
      {{sample_uniform({3}, 2)}, {{"shape", Shape{2, 3}}}},
      {{sample_uniform({}, 3)}, {{"shape", Shape{2, 2}}}},
      {{sample_uniform({2, 1, 3}, 4)}, {{"shape", Shape{2, 4, 3}}}},
      {{sample_uniform({1, 3}, 5)}, {{"shape", Shape{0, 3}}}},
      {{sample_indices({2, 1}, 6, 9)}, {{"shape", Shape{2, 3}}}},
  };
}

std::vector<OpErrorSample> broadcast_to_errors() {
  return {
      {{{DType::f32, {2, 3}}},
       {{"shape", Shape{2, 4}}},
       "axis 1 has size 3, which is neither 1 nor 4"},
      {{{DType::f32, {2, 3}}}, {{"shape", Shape{3}}}, "cannot broadcast [2, 3] to [3]"},
  };
}

std::vector<OpSample> concat_samples() {
  const auto x = sample_uniform({2, 3}, 1);
  return {
      {{x, sample_uniform({1, 3}, 2)}, {{"axis", std::int64_t{0}}}},
      {{x, sample_uniform({2, 2}, 3), sample_uniform({2, 1}, 4)}, {{"axis", std::int64_t{1}}}},
      {{x, sample_uniform({2, 0}, 5)}, {{"axis", std::int64_t{1}}}},
      {{x}, {{"axis", std::int64_t{0}}}},
      {{sample_uniform({2, 1, 2}, 6), sample_uniform({2, 3, 2}, 7)}, {{"axis", std::int64_t{1}}}},
  };
}

std::vector<OpErrorSample> concat_errors() {
  const ValueType x{DType::f32, {2, 3}};
  return {
      {{}, {{"axis", std::int64_t{0}}}, "needs at least one operand"},
      {{x, {DType::f32, {2, 4}}}, {{"axis", std::int64_t{0}}}, "the other axes must be equal"},
      {{x, {DType::f64, {2, 3}}}, {{"axis", std::int64_t{0}}}, "different dtypes, f32 and f64"},
      {{x, x}, {{"axis", std::int64_t{2}}}, "axis 2 is out of range for f32[2, 3] with 2 axes"},
  };
}

std::vector<OpSample> flip_samples() {
  return {
      {{sample_uniform({5}, 1)}, {{"axes", Ints{0}}}},
      {{sample_uniform({2, 3, 4}, 2)}, {{"axes", Ints{0, 2}}}},
      {{sample_uniform({2, 3}, 3)}, {{"axes", Ints{}}}},
      {{sample_uniform({0, 3}, 4)}, {{"axes", Ints{0, 1}}}},
  };
}

std::vector<OpErrorSample> flip_errors() {
  return {
      {{{DType::f32, {2, 3}}}, {{"axes", Ints{2}}}, "axis 2 is out of range for f32[2, 3]"},
      {{{DType::f32, {2, 3}}}, {{"axes", Ints{1, 1}}}, "axis 1 is given twice"},
  };
}

}  // namespace

void add_samples(ShapeOps, OpSamples& all) {
  all.add("reshape", reshape_samples, reshape_errors);
  all.add("permute", permute_samples, permute_errors);
  all.add("broadcast_to", broadcast_to_samples, broadcast_to_errors);
  all.add("concat", concat_samples, concat_errors);
  all.add("flip", flip_samples, flip_errors);
  add_slice_samples(all);
}

}  // namespace weft
