// Samples of the operations in ops/reductions/reduce.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Attributes over(std::vector<std::int64_t> axes, bool keepdims) {
  return {{"axes", std::move(axes)}, {"keepdims", keepdims}};
}

template <Tensor (*kData)(Sizes, std::uint64_t)>
std::vector<OpSample> reduce_samples() {
  return {
      {{kData({7}, 1)}, over({0}, false)},
      {{kData({3, 5}, 2)}, over({1}, true)},
      {{kData({3, 5}, 3)}, over({0}, false)},
      {{kData({2, 3, 4}, 4)}, over({0, 2}, false)},
      {{kData({2, 3, 2, 3}, 5)}, over({1, 3}, true)},
      {{kData({2, 3, 4}, 6)}, over({0, 1, 2}, false)},
      {{kData({5}, 7)}, over({}, false)},
      {{kData({}, 8)}, over({}, false)},
      {{kData({0, 3}, 9)}, over({1}, false)},
  };
}

Tensor uniform_data(Sizes sizes, std::uint64_t seed) {
  return sample_uniform(std::move(sizes), seed);
}

Tensor distinct_data(Sizes sizes, std::uint64_t seed) {
  return sample_distinct(std::move(sizes), seed);
}

Tensor positive_data(Sizes sizes, std::uint64_t seed) {
  return sample_uniform(std::move(sizes), seed, 0.5, 1.5);
}

Tensor bool_data(Sizes sizes, std::uint64_t seed) {
  Tensor out = Tensor::empty(DType::boolean, std::move(sizes));
  const Tensor bits = sample_indices(out.sizes(), seed, 3);
  bool* to = out.mutable_data<bool>();
  for (std::int64_t i = 0; i < out.numel(); ++i) to[i] = bits.at(i) != 0;
  return out;
}

std::vector<OpSample> sum_samples() {
  auto samples = reduce_samples<uniform_data>();
  samples.push_back({{sample_uniform({3, 0}, 1)}, over({1}, false)});
  samples.push_back({{sample_indices({4, 3}, 2, 9)}, over({0}, false)});
  return samples;
}

std::vector<OpErrorSample> numeric_errors() {
  return {
      {{{DType::f32, {2, 3}}},
       over({2}, false),
       "axis 2 is out of range for f32[2, 3] with 2 axes"},
      {{{DType::f32, {2, 3}}}, over({1, 0}, false), "axes [1, 0] must be ascending"},
      {{{DType::boolean, {2}}},
       over({0}, false),
       "x must be f32, f64 or of an integer dtype, but is bool"},
  };
}

std::vector<OpErrorSample> mean_errors() {
  return {
      {{{DType::i64, {2, 3}}}, over({1}, false), "convert x with cast(x, DType::f32) first"},
      {{{DType::f32, {2, 3}}}, over({3}, false), "axis 3 is out of range"},
  };
}

std::vector<OpErrorSample> floating_errors() {
  return {
      {{{DType::i32, {2, 3}}}, over({1}, false), "x must be f32 or f64, but is i32"},
      {{{DType::f32, {2, 3}}}, over({-1}, false), "axis -1 is out of range"},
  };
}

std::vector<OpErrorSample> extreme_errors() {
  auto errors = numeric_errors();
  errors.push_back(
      {{{DType::f32, {2, 0}}}, over({1}, false), "axis 1 has size 0: an empty range has no"});
  return errors;
}

std::vector<OpErrorSample> logical_errors() {
  return {{{{DType::f32, {2}}}, over({0}, false), "x must be bool, but is f32"}};
}

}  // namespace

void add_samples(ReduceOps, OpSamples& all) {
  all.add("sum", sum_samples, numeric_errors);
  all.add("mean", reduce_samples<uniform_data>, mean_errors);
  all.add("max", reduce_samples<distinct_data>, extreme_errors);
  all.add("min", reduce_samples<distinct_data>, extreme_errors);
  all.add("prod", reduce_samples<positive_data>, numeric_errors);
  all.add("logsumexp", reduce_samples<uniform_data>, floating_errors);
  all.add("any", reduce_samples<bool_data>, logical_errors);
  all.add("all", reduce_samples<bool_data>, logical_errors);
  add_arg_reduce_samples(all);
  add_block_sums_samples(all);
}

}  // namespace weft
