// Samples of the operations in ops/indexing/index_dynamic.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Tensor start_at(std::initializer_list<std::int64_t> places) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(places.size())}, places);
}

std::vector<OpSample> dynamic_slice_samples() {
  return {
      {{sample_uniform({5, 4}, 1), start_at({2, 1})}, {{"sizes", Shape{3, 2}}}},
      {{sample_uniform({6}, 2), start_at({5}).to(DType::i32)}, {{"sizes", Shape{1}}}},
      {{sample_uniform({3, 2, 2}, 3), start_at({1, 0, 0})}, {{"sizes", Shape{1, 2, 2}}}},
      {{sample_uniform({3}, 4), start_at({3})}, {{"sizes", Shape{0}}}},
      {{sample_uniform({}, 5), start_at({})}, {{"sizes", Shape{}}}},
  };
}

std::vector<OpErrorSample> dynamic_slice_errors() {
  const ValueType x{DType::f32, {5, 4}}, start{DType::i64, {2}};
  return {
      {{x, start},
       {{"sizes", Shape{3}}},
       "sizes [3] must have one size for each of the 2 axes of x"},
      {{x, start}, {{"sizes", Shape{6, 1}}}, "sizes [6, 1] do not fit into x [5, 4]: axis 0"},
      {{x, {DType::i64, {3}}}, {{"sizes", Shape{1, 1}}}, "start must have shape [2]"},
      {{x, {DType::f32, {2}}}, {{"sizes", Shape{1, 1}}}, "start must be i32 or i64, but is f32"},
  };
}

std::vector<OpSample> dynamic_update_samples() {
  return {
      {{sample_uniform({5, 4}, 1), sample_uniform({3, 2}, 2), start_at({2, 1})}, {}},
      {{sample_uniform({6}, 3), sample_uniform({1}, 4), start_at({5}).to(DType::i32)}, {}},
      {{sample_uniform({2, 3}, 5), sample_uniform({2, 3}, 6), start_at({0, 0})}, {}},
      {{sample_uniform({3}, 7), sample_uniform({0}, 8), start_at({1})}, {}},
  };
}

std::vector<OpErrorSample> dynamic_update_errors() {
  const ValueType x{DType::f32, {5, 4}}, start{DType::i64, {2}};
  return {
      {{x, {DType::f32, {6, 1}}, start},
       {},
       "update sizes [6, 1] do not fit into x [5, 4]: axis 0"},
      {{x, {DType::f64, {1, 1}}, start}, {}, "different dtypes, f32 and f64"},
      {{x, {DType::f32, {1, 1}}, {DType::i64, {1}}}, {}, "start must have shape [2]"},
  };
}

}  // namespace

void add_dynamic_slice_samples(OpSamples& all) {
  all.add("dynamic_slice", dynamic_slice_samples, dynamic_slice_errors);
  all.add("dynamic_update_slice", dynamic_update_samples, dynamic_update_errors);
}

}  // namespace weft
