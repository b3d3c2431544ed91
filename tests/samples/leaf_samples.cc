// Samples of the operations in ops/structure/leaf.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> iota_samples() {
  return {{{}, {{"shape", Shape{3, 5}}, {"axis", std::int64_t{1}}, {"dtype", DType::i64}}},
          {{}, {{"shape", Shape{4, 2}}, {"axis", std::int64_t{0}}, {"dtype", DType::f32}}},
          {{}, {{"shape", Shape{0}}, {"axis", std::int64_t{0}}, {"dtype", DType::i32}}}};
}

std::vector<OpErrorSample> iota_errors() {
  return {{{},
           {{"shape", Shape{3}}, {"axis", std::int64_t{1}}, {"dtype", DType::i64}},
           "axis 1 is not an axis of [3]"},
          {{},
           {{"shape", Shape{3}}, {"axis", std::int64_t{0}}, {"dtype", DType::boolean}},
           "indices cannot be bool"},
          {{},
           {{"shape", Shape{2, 300}}, {"axis", std::int64_t{1}}, {"dtype", DType::i8}},
           "the index 299 does not fit into i8, whose range is -128 to 127; use i64"}};
}

std::vector<OpSample> dim_value_samples() {
  return {{{}, {{"dim", Dim(7)}, {"dtype", DType::i64}}},
          {{}, {{"dim", Dim(0)}, {"dtype", DType::f32}}}};
}

std::vector<OpErrorSample> dim_value_errors() {
  return {{{}, {{"dim", Dim(7)}, {"dtype", DType::boolean}}, "the value of a dim cannot be bool"},
          {{},
           {{"dim", Dim(std::int64_t{1} << 40)}, {"dtype", DType::i32}},
           "the size 1099511627776 does not fit into i32"}};
}

std::vector<OpSample> identity_samples() {
  return {{{Tensor::of<float>({2, 3}, {1, -2, 3, 0.5f, 0, -1})}, {}},
          {{Tensor::zeros(DType::f32, {0, 3})}, {}}};
}

std::vector<OpErrorSample> shard_sum_errors() {
  return {{{{DType::bf16, {4}}}, {}, "bf16 values cannot be summed over shards"},
          {{{DType::boolean, {4}}}, {}, "bool values cannot be summed over shards"}};
}

std::vector<OpSample> shard_concat_samples() {
  return {{{Tensor::of<float>({2, 3}, {1, -2, 3, 0.5f, 0, -1})}, {{"rows", Dim(2)}}},
          {{Tensor::of<std::int32_t>({3}, {7, -1, 7})}, {{"rows", Dim(3)}}},
          {{Tensor::zeros(DType::f32, {0, 3})}, {{"rows", Dim(0)}}}};
}

std::vector<OpErrorSample> shard_concat_errors() {
  return {{{{DType::f32, {}}}, {{"rows", Dim(1)}}, "x must have at least 1 axes, but f32[] has 0"},
          {{{DType::f32, {4, 2}}},
           {{"rows", Dim(8)}},
           "attribute rows and the rows of x, outside sharded programs"}};
}

std::vector<OpSample> with_update_samples() {
  std::vector<OpSample> samples = identity_samples();
  for (OpSample& sample : samples) {
    sample.inputs.push_back(Tensor::of<float>({2}, {0.5f, 1}));
    sample.inputs.push_back(Tensor::of<float>({2}, {-1, 3}));
  }
  return samples;
}

std::vector<OpErrorSample> with_update_errors() {
  constexpr DType f32 = DType::f32;
  return {{{{f32, {4}}, {f32, {2}}, {f32, {3}}},
           {},
           "the new value of the variable must have shape [2], but has [3]"},
          {{{f32, {4}}, {f32, {2}}, {DType::f64, {2}}}, {}, "different dtypes, f32 and f64"}};
}

}  // namespace

void add_samples(LeafOps, OpSamples& all) {
  all.add("iota", iota_samples, iota_errors);
  all.add("dim_value", dim_value_samples, dim_value_errors);
  all.add("stop_gradient", identity_samples);
  all.add("optimization_barrier", identity_samples);
  all.add("shard_sum", identity_samples, shard_sum_errors);
  all.add("shard_concat", shard_concat_samples, shard_concat_errors);
  all.add("with_update", with_update_samples, with_update_errors);
}

}  // namespace weft
