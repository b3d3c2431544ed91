// Samples of the operations in ops/convolution/pool.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

struct PoolCase {
  Sizes x;
  Ints kernel, stride, padding;
  std::int64_t out(std::size_t i) const {
    return (x[i + 2] + 2 * padding[i] - kernel[i]) / stride[i] + 1;
  }
  Attributes attributes() const {
    return {{"kernel", kernel}, {"stride", stride}, {"padding", padding}};
  }
};

std::vector<PoolCase> pool_cases() {
  return {{{2, 3, 6, 4}, {2, 2}, {2, 2}, {0, 0}}, {{1, 2, 5, 7}, {3, 3}, {1, 2}, {1, 1}},
          {{1, 1, 4, 5}, {2, 3}, {1, 1}, {1, 0}}, {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0}},
          {{0, 2, 3, 3}, {2, 2}, {1, 1}, {0, 0}}, {{1, 1, 5, 1}, {2, 1}, {3, 1}, {0, 0}}};
}

std::vector<OpSample> max_pool_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : pool_cases())
    samples.push_back({{sample_distinct(c.x, 41)}, c.attributes()});
  return samples;
}

std::vector<OpSample> avg_pool_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : pool_cases())
    samples.push_back({{sample_uniform(c.x, 42)}, c.attributes()});
  return samples;
}

std::vector<OpSample> avg_pool_grad_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : pool_cases()) {
    Attributes attributes = c.attributes();
    attributes.set("height", Dim(c.x[2]));
    attributes.set("width", Dim(c.x[3]));
    samples.push_back({{sample_uniform({c.x[0], c.x[1], c.out(0), c.out(1)}, 43)}, attributes});
  }
  return samples;
}

std::vector<OpErrorSample> pool_errors() {
  const ValueType x{DType::f32, {1, 2, 5, 6}};
  return {
      {{{DType::f32, {2, 5, 6}}},
       {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}},
       "x [N, C, H, W] must have 4 axes, but f32[2, 5, 6] has 3"},
      {{{DType::i32, {1, 2, 5, 6}}},
       {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}},
       "x must be f32 or f64, but is i32"},
      {{x},
       {{"kernel", Ints{7, 2}}, {"stride", Ints{2, 2}}},
       "height: a kernel of size 7 with dilation 1 spans 7, but the padded input size is only 5 "
       "(padding 0)"},
      {{x},
       {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}, {"padding", Ints{2, 0}}},
       "padding must be at most half the kernel, so that every window touches the image, but is "
       "2 for a kernel of 2"},
      {{x},
       {{"kernel", Ints{2, 2}},
        {"stride", Ints{2, 2}},
        {"padding", Ints{std::int64_t{1} << 62, 0}}},
       "padding must be less than 2^31, but is [4611686018427387904, 0]"},
      {{x},
       {{"kernel", Ints{2, 2}}, {"stride", Ints{0, 2}}},
       "stride must be two integers of at least 1, but is [0, 2]"}};
}

std::vector<OpErrorSample> max_pool_errors() {
  std::vector<OpErrorSample> errors = pool_errors();
  errors.push_back(
      {{{DType::f32, {1, 1, 0, 3}}},
       {{"kernel", Ints{2, 3}}, {"stride", Ints{1, 1}}, {"padding", Ints{1, 0}}},
       "max_pool2d requires an image with at least one pixel, but the image is 0 x 3"});
  return errors;
}

std::vector<OpErrorSample> avg_pool_grad_errors() {
  return {{{{DType::f32, {1, 2, 3, 3}}},
           {{"kernel", Ints{2, 2}}, {"stride", Ints{2, 2}}, {"height", Dim(4)}, {"width", Dim(6)}},
           "g must have shape [1, 2, 2, 3], but has [1, 2, 3, 3]"}};
}

}  // namespace

void add_samples(PoolOps, OpSamples& all) {
  all.add("max_pool2d", max_pool_samples, max_pool_errors);
  all.add("avg_pool2d", avg_pool_samples, pool_errors);
  all.add("avg_pool2d_grad", avg_pool_grad_samples, avg_pool_grad_errors);
}

}  // namespace weft
