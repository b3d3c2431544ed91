// Samples of the operations in ops/indexing/index_range.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes range_attributes(Dim last, std::int64_t excluded = -1) {
  return {{"name", std::string("ids")}, {"last", std::move(last)}, {"excluded", excluded}};
}

std::vector<OpSample> range_samples() {
  return {
      {{Tensor::of<std::int64_t>({3}, {0, 2, 5})}, range_attributes(5)},
      {{Tensor::of<std::int32_t>({2, 2}, {0, 3, 2, 4})}, range_attributes(4, 1)},
      {{Tensor::of<std::int64_t>({2, 3}, {0, -1, 9, 3, 1, -7}),
        Tensor::of<std::int32_t>({2}, {1, 2})},
       range_attributes(3, 2)},
      {{Tensor::of<std::int32_t>({1, 2}, {7, -7}), Tensor::of<std::int64_t>({1}, {0})},
       range_attributes(-1)},
      {{Tensor::zeros(DType::i64, {})}, range_attributes(0)},
      {{Tensor::zeros(DType::i64, {2, 0}), Tensor::zeros(DType::i64, {2})}, range_attributes(-1)},
      {{Tensor::zeros(DType::i64, {0})}, range_attributes(-1)}};
}

std::vector<OpErrorSample> range_errors() {
  const ValueType x{DType::i64, {2, 3}};
  return {{{{DType::f32, {4}}}, range_attributes(5), "x must be i32 or i64, but is f32"},
          {{x, {DType::f32, {2}}}, range_attributes(5), "lengths must be i32 or i64, but is f32"},
          {{x, {DType::i64, {3}}}, range_attributes(5), "lengths must have shape [2], but has [3]"},
          {{{DType::i64, {2}}, {DType::i64, {2}}},
           range_attributes(5),
           "x with lengths must have 2 axes, but i64[2] has 1"}};
}

}  // namespace

void add_range_samples(OpSamples& all) { all.add("require_range", range_samples, range_errors); }

}  // namespace weft
