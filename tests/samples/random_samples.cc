// Samples of the operations in ops/elementwise/random.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

Tensor sample_key() { return Tensor::of<std::int64_t>({2}, {0x123456789ABCDEF, 3}); }

std::vector<OpSample> float_draw_samples() {
  std::vector<OpSample> samples;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{7}, Sizes{3, 5}}) {
      samples.push_back({{sample_key()},
                         {{"shape", Shape(sizes)}, {"dtype", dtype}, {"stream", std::int64_t{5}}}});
    }
  }
  return samples;
}

std::vector<OpSample> bernoulli_samples() {
  std::vector<OpSample> samples;
  for (const double p : {0.0, 0.3, 1.0}) {
    samples.push_back(
        {{sample_key()}, {{"shape", Shape{3, 5}}, {"p", p}, {"stream", std::int64_t{6}}}});
  }
  return samples;
}

std::vector<OpSample> dropout_samples() {
  std::vector<OpSample> samples;
  for (const Sizes& sizes : {Sizes{}, Sizes{0, 3}, Sizes{7}, Sizes{4, 5}}) {
    for (const double rate : {0.0, 0.4}) {
      samples.push_back({{sample_uniform(sizes, 51), sample_key()},
                         {{"rate", rate}, {"stream", std::int64_t{7}}}});
    }
  }
  return samples;
}

std::vector<OpSample> key_advance_samples() { return {{{sample_key()}, {}}}; }

std::vector<OpSample> key_fold_samples() {
  return {{{sample_key(), Tensor::scalar(DType::i64, 4)}, {}}};
}

const ValueType& key_type() {
  static const ValueType type{DType::i64, {2}};
  return type;
}

std::vector<OpErrorSample> float_draw_errors() {
  const Attribute shape = Shape{3};
  const Attribute f32 = DType::f32, stream = std::int64_t{1};
  return {{{{DType::i64, {3}}},
           {{"shape", shape}, {"dtype", f32}, {"stream", stream}},
           "the key {seed, runs} must have shape [2], but has [3]"},
          {{{DType::i32, {2}}},
           {{"shape", shape}, {"dtype", f32}, {"stream", stream}},
           "the key {seed, runs} must be i64, but is i32"},
          {{key_type()},
           {{"shape", shape}, {"dtype", DType::i32}, {"stream", stream}},
           "dtype must be f32 or f64, but is i32"},
          {{key_type()},
           {{"shape", shape}, {"dtype", f32}, {"stream", std::int64_t{-1}}},
           "stream must be from 0 to 4294967295, but is -1"}};
}

std::vector<OpErrorSample> bernoulli_errors() {
  return {{{key_type()},
           {{"shape", Shape{3}}, {"p", 1.5}, {"stream", std::int64_t{1}}},
           "p must be in [0, 1], but is 1.5"}};
}

std::vector<OpErrorSample> dropout_errors() {
  const ValueType x{DType::f32, {3}};
  return {{{x, key_type()},
           {{"rate", 1.0}, {"stream", std::int64_t{1}}},
           "rate must be in [0, 1), but is 1"},
          {{{DType::i64, {3}}, key_type()},
           {{"rate", 0.5}, {"stream", std::int64_t{1}}},
           "x must be f32 or f64, but is i64"},
          {{x, x},
           {{"rate", 0.5}, {"stream", std::int64_t{1}}},
           "the key {seed, runs} must be i64, but is f32"}};
}

std::vector<OpErrorSample> key_advance_errors() {
  return {{{{DType::i64, {1}}}, {}, "the key {seed, runs} must have shape [2], but has [1]"}};
}

std::vector<OpErrorSample> key_fold_errors() {
  return {{{key_type(), {DType::i32, {}}}, {}, "index must be i64, but is i32"},
          {{key_type(), {DType::i64, {2}}}, {}, "index must have 0 axes"}};
}

}  // namespace

void add_samples(RandomOps, OpSamples& all) {
  all.add("random_uniform", float_draw_samples, float_draw_errors);
  all.add("random_normal", float_draw_samples, float_draw_errors);
  all.add("random_bernoulli", bernoulli_samples, bernoulli_errors);
  all.add("key_advance", key_advance_samples, key_advance_errors);
  all.add("key_fold", key_fold_samples, key_fold_errors);
  all.add("dropout", dropout_samples, dropout_errors);
}

}  // namespace weft
