// Samples of the operations in ops/quantized/dequantize.cc.
#include <cmath>
#include <limits>

#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

constexpr auto kInt8 = QuantizedFormat::int8, kInt4 = QuantizedFormat::int4,
               kQ8_0 = QuantizedFormat::q8_0;

Attributes matrix_attributes(std::int64_t inputs, std::int64_t outputs) {
  return {{"inputs", inputs}, {"outputs", outputs}, {"dtype", DType::f32}};
}

std::vector<OpSample> dequantize_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    for (const auto& [inputs, outputs] :
         {std::pair<int, int>{5, 3}, {40, 16}, {64, 37}, {1, 1}, {0, 3}, {3, 0}}) {
      for (const bool transposed : {false, true}) {
        const QuantizedMatrix m = sample_quantized(format, inputs, outputs);
        Attributes attributes = matrix_attributes(inputs, outputs);
        attributes.set("transposed", transposed);
        samples.push_back({{m.q, m.scale}, attributes});
        for (const std::int64_t matrices : {0, 1, 3}) {
          const QuantizedMatrix stack = sample_quantized_stack(format, matrices, inputs, outputs);
          samples.push_back({{stack.q, stack.scale}, attributes});
        }
      }
    }
  }
  return samples;
}

std::vector<OpSample> take_quantized_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    const QuantizedMatrix m = sample_quantized(format, 37, 21);
    samples.push_back({{m.q, m.scale, sample_indices({2, 3}, 5, 21)}, matrix_attributes(37, 21)});
    samples.push_back(
        {{m.q, m.scale, sample_indices({}, 6, 21).to(DType::i32)}, matrix_attributes(37, 21)});
    samples.push_back({{m.q, m.scale, sample_indices({0}, 7, 21)}, matrix_attributes(37, 21)});
  }
  return samples;
}

std::vector<OpErrorSample> dequantize_errors() {
  const ValueType q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  return {
      {{q, scale}, {}, "inputs"},
      {{q, scale}, matrix_attributes(9, 3), "q of an int8 matrix [9, 3] must be [1, 3, 16, 4]"},
      {{q, {DType::f32, {2, 16}}},
       matrix_attributes(5, 3),
       "the scale of an int8 matrix [5, 3] must be [1, 16]"},
      {{{DType::i8, {3, 1, 2, 16, 4}}, scale},
       matrix_attributes(5, 3),
       "the scale of an int8 matrix [5, 3] must be [3, 1, 16]"},
      {{q, {DType::f16, {1, 16}}},
       matrix_attributes(5, 3),
       "the scale of a q8_0 matrix [5, 3] must be [1, 1, 16]"},
      {{q, {DType::bf16, {1, 16}}},
       matrix_attributes(5, 3),
       "the scale must be f32 (int8) or f16 (q8_0), but is bf16"},
      {{{DType::u8, {1, 4, 16, 4}}, {DType::f32, {1, 1, 16}}},
       matrix_attributes(5, 3),
       "the scale must be f16 (int4), but is f32"},
      {{{DType::i8, {1, 3, 16, 4}}, {DType::f16, {1, 1, 16}}},
       matrix_attributes(5, 3),
       "q of a q8_0 matrix [5, 3] must be [1, 2, 16, 4]"},
      {{{DType::f32, {5, 3}}, scale},
       matrix_attributes(5, 3),
       "q must be i8 (int8, q8_0) or u8 (int4)"},
      {{{DType::u8, {1, 4, 16, 4}}, {DType::f16, {1, 2, 16}}},
       matrix_attributes(5, 3),
       "the scale of an int4 matrix [5, 3] must be [1, 1, 16]"},
      {{q, scale},
       {{"inputs", std::int64_t{5}}, {"outputs", std::int64_t{3}}, {"dtype", DType::bf16}},
       "dtype must be f32 or f64, not bf16"},
      {{q, scale},
       matrix_attributes(5, -3),
       "sizes of a quantised matrix must be in [0, 2^47], but are [5, -3]"},
  };
}

std::vector<OpErrorSample> take_quantized_errors() {
  const ValueType q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  return {{{q, scale, {DType::f32, {2}}}, matrix_attributes(5, 3), "index"},
          {{q, scale, {DType::i64, {2}}}, matrix_attributes(4, 3), "must be [1, 1, 16, 4]"}};
}

std::vector<OpSample> pack_samples() {
  std::vector<OpSample> samples;
  for (const Sizes& sizes : {Sizes{3, 5}, {2, 3, 37}, {64}, {1}, {4, 0}, {0, 7}})
    samples.push_back({{sample_uniform(sizes, 8)}, {}});
  samples.push_back(
      {{Tensor::of<float>({4, 2}, {0, 0, 1e-45f, -1e-44f, 3e38f, -2e38f, 1, -127})}, {}});
  const float infinity = std::numeric_limits<float>::infinity();
  samples.push_back({{Tensor::of<float>({3, 2}, {1, infinity, NAN, 0, 63.5f, 127})}, {}});
  return samples;
}

std::vector<OpSample> unpack_samples() {
  std::vector<OpSample> samples;
  const OpRecord& pack = builtin_ops_if_linked()->at("pack_int8_rows");
  for (OpSample& sample : pack_samples())
    samples.push_back({{evaluate_op(pack, sample.inputs, {})[0]}, {}});
  return samples;
}

std::vector<OpErrorSample> pack_errors() {
  return {{{{DType::f64, {2, 3}}}, {}, "x must be f32, but is f64"},
          {{{DType::f32, Shape()}}, {}, "x must have at least 1 axes"}};
}

std::vector<OpErrorSample> unpack_errors() {
  return {{{{DType::u8, {2, 7}}}, {}, "x must be i8, but is u8"},
          {{{DType::i8, {2, 3}}},
           {},
           "the last axis of x holds numbers and a scale of 4 bytes, but has 3 elements"}};
}

}  // namespace

void add_samples(QuantizedOps, OpSamples& all) {
  all.add("dequantize", dequantize_samples, dequantize_errors);
  all.add("pack_int8_rows", pack_samples, pack_errors);
  all.add("unpack_int8_rows", unpack_samples, unpack_errors);
  all.add("quantized_take", take_quantized_samples, take_quantized_errors);
}

}  // namespace weft
