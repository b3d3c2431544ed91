// Samples of the operations in ops/indexing/index.cc.
#include <string>

#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes along(std::int64_t axis) { return {{"axis", axis}}; }

Attributes classes(Dim count, DType dtype) {
  return {{"classes", std::move(count)}, {"dtype", dtype}};
}

std::vector<OpSample> take_samples() {
  return {
      {{sample_uniform({5, 3}, 1), sample_indices({4}, 2, 5)}, along(0)},
      {{sample_uniform({2, 4, 3}, 3), sample_indices({2, 2}, 4, 4)}, along(1)},
      {{sample_uniform({3, 7}, 5), sample_indices({}, 6, 7)}, along(1)},
      {{sample_uniform({6}, 7), sample_indices({9}, 8, 6).to(DType::i32)}, along(0)},
      {{sample_uniform({3, 2}, 9), sample_indices({0}, 10, 3)}, along(0)},
  };
}

std::vector<OpErrorSample> take_errors() {
  const ValueType x{DType::f32, {5, 3}}, index{DType::i64, {4}};
  return {
      {{x, {DType::f32, {4}}}, along(0), "index must be i32 or i64, but is f32"},
      {{x, index}, along(2), "axis 2 is out of range for f32[5, 3] with 2 axes"},
  };
}

std::vector<OpSample> index_combine_samples() {
  return {
      {{sample_uniform({5, 3}, 1), sample_indices({4}, 2, 5), sample_uniform({4, 3}, 3)}, along(0)},
      {{sample_uniform({2, 3, 2}, 4), sample_indices({2, 2}, 5, 3),
        sample_uniform({2, 2, 2, 2}, 6)},
       along(1)},
      {{sample_uniform({4}, 7), sample_indices({}, 8, 4), sample_uniform({}, 9)}, along(0)},
      {{sample_uniform({2, 2}, 10), sample_indices({0}, 11, 2), sample_uniform({0, 2}, 12)},
       along(0)},
  };
}

std::vector<OpErrorSample> index_combine_errors() {
  const ValueType x{DType::f32, {5, 3}}, index{DType::i64, {4}};
  return {
      {{x, index, {DType::f32, {3, 3}}}, along(0), "src must have shape [4, 3], but has [3, 3]"},
      {{x, index, {DType::f64, {4, 3}}}, along(0), "different dtypes, f32 and f64"},
      {{{DType::boolean, {5}}, index, {DType::boolean, {4}}},
       along(0),
       "x must be f32, f64 or of an integer dtype, but is bool"},
  };
}

std::vector<OpSample> take_along_samples() {
  return {
      {{sample_uniform({5, 3}, 1), sample_indices({2, 3}, 2, 5)}, along(0)},
      {{sample_uniform({2, 4, 2}, 3), sample_indices({2, 6, 2}, 4, 4)}, along(1)},
      {{sample_uniform({5}, 5), sample_indices({3}, 6, 5).to(DType::i32)}, along(0)},
      {{sample_uniform({2, 3}, 7), sample_indices({2, 0}, 8, 3)}, along(1)},
  };
}

std::vector<OpErrorSample> take_along_errors() {
  const ValueType x{DType::f32, {5, 3}};
  return {
      {{x, {DType::i64, {2, 2}}},
       along(0),
       "index [2, 2] must have the same sizes as x [5, 3] except"},
      {{x, {DType::i64, {2}}}, along(0), "index [2] must have the same sizes as x [5, 3] except"},
      {{x, {DType::f32, {2, 3}}}, along(0), "index must be i32 or i64, but is f32"},
  };
}

std::vector<OpSample> scatter_combine_samples() {
  return {
      {{sample_uniform({4, 3}, 1), sample_indices({9, 3}, 2, 4), sample_uniform({9, 3}, 3)},
       along(0)},
      {{sample_uniform({2, 4}, 4), sample_indices({2, 3}, 5, 4), sample_uniform({2, 3}, 6)},
       along(1)},
      {{sample_uniform({2, 3}, 7), sample_indices({2, 0}, 8, 3), sample_uniform({2, 0}, 9)},
       along(1)},
  };
}

std::vector<OpErrorSample> scatter_combine_errors() {
  const ValueType x{DType::f32, {4, 3}}, index{DType::i64, {9, 3}};
  return {
      {{x, index, {DType::f32, {8, 3}}}, along(0), "src must have shape [9, 3], but has [8, 3]"},
      {{x, {DType::i64, {9, 2}}, {DType::f32, {9, 2}}},
       along(0),
       "must have the same sizes as x [4, 3]"},
  };
}

std::vector<OpSample> one_hot_samples() {
  return {
      {{sample_indices({4}, 1, 5)}, classes(5, DType::f32)},
      {{sample_indices({2, 3}, 2, 4).to(DType::i32)}, classes(4, DType::boolean)},
      {{sample_indices({}, 3, 3)}, classes(3, DType::i64)},
      {{sample_indices({0}, 4, 3)}, classes(3, DType::f32)},
  };
}

std::vector<OpErrorSample> one_hot_errors() {
  return {
      {{{DType::f32, {4}}}, classes(5, DType::f32), "ids must be i32 or i64, but is f32"},
      {{{DType::i64, {4}}}, classes(-1, DType::f32), "classes must not be negative, but is -1"},
  };
}

}  // namespace

void add_samples(IndexOps, OpSamples& all) {
  all.add("take", take_samples, take_errors);
  all.add("take_along_axis", take_along_samples, take_along_errors);
  for (const char* combine : {"add", "max", "min"}) {
    all.add(std::string("index_") + combine, index_combine_samples, index_combine_errors);
    all.add(std::string("scatter_") + combine, scatter_combine_samples, scatter_combine_errors);
  }
  all.add("one_hot", one_hot_samples, one_hot_errors);
  add_dynamic_slice_samples(all);
  add_tensor_scatter_samples(all);
  add_offset_samples(all);
  add_range_samples(all);
}

}  // namespace weft
