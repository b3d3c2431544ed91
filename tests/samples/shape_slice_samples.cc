// Samples of the operations in ops/indexing/shape_slice.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes padding(Shape before, Shape after, double value) {
  return {{"before", std::move(before)}, {"after", std::move(after)}, {"value", value}};
}

Attributes slice_of(Shape starts, Shape sizes, std::vector<std::int64_t> steps) {
  return {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}};
}

Attributes unslice_of(Shape shape, Shape starts, std::vector<std::int64_t> steps) {
  return {{"shape", std::move(shape)}, {"starts", std::move(starts)}, {"steps", std::move(steps)}};
}

std::vector<OpSample> slice_samples() {
  return {
      {{sample_uniform({7}, 1)}, slice_of({2}, {4}, {1})},
      {{sample_uniform({4, 7}, 2)}, slice_of({1, 6}, {3, 3}, {1, -3})},
      {{sample_uniform({5, 3}, 3)}, slice_of({0, 1}, {3, 2}, {2, 1})},
      {{sample_uniform({2, 3, 4}, 4)}, slice_of({0, 0, 1}, {2, 3, 1}, {1, 1, 1})},
      {{sample_uniform({3}, 5)}, slice_of({3}, {0}, {1})},
      {{sample_uniform({}, 6)}, slice_of({}, {}, {})},
      {{sample_indices({6}, 7, 9)}, slice_of({5}, {6}, {-1})},
  };
}

std::vector<OpErrorSample> slice_errors() {
  const ValueType x{DType::f32, {7}};
  return {
      {{x}, slice_of({4}, {4}, {1}), "reads from 4 to 7 with step 1, which is outside [0, 7)"},
      {{x}, slice_of({2}, {4}, {-1}), "reads from 2 to -1 with step -1, which is outside [0, 7)"},
      {{x}, slice_of({0}, {2}, {0}), "axis 0: the step must not be 0"},
      {{x}, slice_of({0}, {-2}, {1}), "axis 0: the slice has -2 elements"},
      {{x}, slice_of({0, 0}, {2, 2}, {1, 1}), "one entry for each of the 1 axes"},
  };
}

std::vector<OpSample> unslice_samples() {
  return {
      {{sample_uniform({4}, 1)}, unslice_of({7}, {2}, {1})},
      {{sample_uniform({3, 3}, 2)}, unslice_of({4, 7}, {1, 6}, {1, -3})},
      {{sample_uniform({2, 0}, 3)}, unslice_of({3, 2}, {0, 0}, {1, 1})},
      {{sample_uniform({}, 4)}, unslice_of({}, {}, {})},
  };
}

std::vector<OpErrorSample> unslice_errors() {
  const ValueType g{DType::f32, {4}};
  return {
      {{g}, unslice_of({6}, {3}, {1}), "reads from 3 to 6 with step 1, which is outside [0, 6)"},
      {{g}, unslice_of({6, 2}, {0, 0}, {1, 1}), "g must have 2 axes"},
  };
}

Attributes added_at(Shape starts, std::vector<std::int64_t> steps) {
  return {{"starts", std::move(starts)}, {"steps", std::move(steps)}};
}

std::vector<OpSample> slice_add_samples() {
  return {
      {{sample_uniform({7}, 1), sample_uniform({4}, 2)}, added_at({2}, {1})},
      {{sample_uniform({4, 7}, 3), sample_uniform({3, 3}, 4)}, added_at({1, 6}, {1, -3})},
      {{sample_uniform({5, 3}, 5), sample_uniform({3, 2}, 6)}, added_at({0, 1}, {2, 1})},
      {{sample_uniform({3, 4, 5}, 7), sample_uniform({3, 1, 5}, 8)},
       added_at({0, 2, 0}, {1, 1, 1})},
      {{sample_uniform({3, 4, 5}, 9), sample_uniform({2, 4, 5}, 10)},
       added_at({1, 0, 0}, {1, 1, 1})},
      {{sample_uniform({3}, 11), sample_uniform({0}, 12)}, added_at({3}, {1})},
      {{sample_uniform({}, 13), sample_uniform({}, 14)}, added_at({}, {})},
      {{sample_indices({6}, 15, 9), sample_indices({6}, 16, 9)}, added_at({5}, {-1})},
  };
}

std::vector<OpErrorSample> slice_add_errors() {
  const ValueType x{DType::f32, {7}}, g{DType::f32, {4}};
  return {
      {{x, g}, added_at({4}, {1}), "reads from 4 to 7 with step 1, which is outside [0, 7)"},
      {{x, g}, added_at({0, 0}, {1, 1}), "one entry for each of the 1 axes"},
      {{x, {DType::f32, {2, 2}}}, added_at({0}, {1}), "g must have 1 axes"},
      {{x, {DType::f64, {4}}}, added_at({0}, {1}), "operands have different dtypes, f32 and f64"},
      {{{DType::boolean, {7}}, {DType::boolean, {4}}},
       added_at({0}, {1}),
       "x must be f32, f64 or of an integer dtype, but is bool"},
  };
}

std::vector<OpSample> pad_samples() {
  return {
      {{sample_uniform({3}, 1)}, padding({2}, {1}, 0.5)},
      {{sample_uniform({2, 3}, 2)}, padding({0, 1}, {3, 0}, 0)},
      {{sample_uniform({2, 3}, 3)}, padding({0, 0}, {0, 0}, 0)},
      {{sample_uniform({0, 2}, 4)}, padding({1, 1}, {1, 0}, -1)},
      {{sample_indices({4}, 5, 9)}, padding({1}, {0}, 7)},
  };
}

std::vector<OpErrorSample> pad_errors() {
  const ValueType x{DType::f32, {2, 3}};
  return {
      {{x},
       padding({0, -1}, {0, 0}, 0),
       "axis 1: padding -1 is negative; use slice() to remove elements"},
      {{x}, padding({1}, {0, 0}, 0), "before [1] and after [0, 0] must have one entry for each"},
      {{{DType::i8, {3}}},
       padding({1}, {0}, 300),
       "300 does not fit into i8, whose range is -128 to 127"},
      {{{DType::i32, {3}}}, padding({1}, {0}, 0.5), "0.5 cannot be stored as i32"},
      {{{DType::boolean, {3}}},
       padding({1}, {0}, 2),
       "2 does not fit into bool, whose range is 0 to 1"},
  };
}

}  // namespace

void add_slice_samples(OpSamples& all) {
  all.add("slice", slice_samples, slice_errors);
  all.add("unslice", unslice_samples, unslice_errors);
  all.add("slice_add", slice_add_samples, slice_add_errors);
  all.add("pad", pad_samples, pad_errors);
}

}  // namespace weft
