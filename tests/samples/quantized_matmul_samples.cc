// Samples of the operations in ops/quantized/quantized_matmul.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> quantized_matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](Sizes x, std::int64_t outputs, bool transpose = false) {
    for (const auto format :
         {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
      const QuantizedMatrix m = transpose ? sample_quantized(format, outputs, x.back())
                                          : sample_quantized(format, x.back(), outputs);
      samples.push_back({{sample_uniform(x, 41), m.q, m.scale},
                         {{"outputs", outputs}, {"transpose", transpose}}});
    }
  };
  for (std::int64_t rows = 1; rows <= 9; ++rows) add({rows, 70}, 35);
  add({1, 96}, 48);
  add({1}, 1);
  add({33}, 15);
  add({2, 2, 7}, 16);
  add({3, 11, 40}, 150);
  add({17, 530}, 20);
  add({0, 5}, 3);
  add({2, 0}, 3);
  add({2, 3}, 0);
  for (const Sizes& x : {Sizes{1, 35}, {3, 2, 150}, {17, 530}, {33}, {0, 5}, {2, 0}})
    add(x, 70, true);
  add({5, 20}, 300, true);
  add({2, 3}, 0, true);
  return samples;
}

std::vector<OpErrorSample> quantized_matmul_errors() {
  const ValueType x{DType::f32, {2, 5}}, q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  const Attributes three{{"outputs", std::int64_t{3}}};
  return {{{x, q, scale}, {{"outputs", std::int64_t{17}}}, "must be [2, 2, 16, 4]"},
          {{x, q, scale},
           {{"outputs", std::int64_t{9}}, {"transpose", true}},
           "q of an int8 matrix [9, 5] must be [1, 3, 16, 4]"},
          {{{DType::f32, {2, 4}}, q, scale}, three, "must be [1, 1, 16, 4]"},
          {{{DType::bf16, {2, 5}}, q, scale}, three, "x must be f32 or f64, but is bf16"},
          {{{DType::f32, {}}, q, scale}, three, "x must have at least 1 ax"},
          {{x, q, {DType::f64, {1, 16}}}, three, "must be f32 (int8) or f16 (q8_0), but is f64"},
          {{x, q, scale},
           {{"outputs", std::int64_t{3}}, {"precision", std::string("low")}},
           "unknown precision 'low'; available: highest, high, medium"}};
}

std::vector<OpSample> quantized_matmul_fused_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](Sizes x, std::int64_t outputs, const char* program,
                       std::vector<Sizes> operands, bool transpose = false) {
    for (const auto format :
         {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
      const QuantizedMatrix m = transpose ? sample_quantized(format, outputs, x.back())
                                          : sample_quantized(format, x.back(), outputs);
      OpSample sample{
          {sample_uniform(x, 41), m.q, m.scale},
          {{"outputs", outputs}, {"transpose", transpose}, {"program", std::string(program)}}};
      std::uint32_t seed = 42;
      for (const Sizes& sizes : operands) sample.inputs.push_back(sample_uniform(sizes, seed++));
      samples.push_back(std::move(sample));
    }
  };
  const char* gelu = "%2 = add(%0, %1); %3 = gelu_tanh(%2); return %2, %3";
  const char* residual = "%4 = add(%0, %1); %5 = mul(%4, %3); %6 = add(%2, %5); return %6";
  const char* narrow = "%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2";
  add({1, 70}, 35, gelu, {{35}});
  add({3, 40}, 150, residual, {{150}, {3, 150}, {}});
  add({2, 1, 33}, 48, residual, {{48}, {2, 1, 48}, {1, 1}});
  add({20, 530}, 150, gelu, {{1, 150}});
  add({5, 12}, 20, narrow, {});
  add({19, 12}, 20, narrow, {});
  add({0, 5}, 3, gelu, {{3}});
  add({2, 0}, 3, gelu, {{3}});
  add({2, 3}, 0, gelu, {{0}});
  add({4, 35}, 150, residual, {{150}, {4, 150}, {}}, true);
  add({2, 0}, 3, gelu, {{3}}, true);
  return samples;
}

std::vector<OpErrorSample> quantized_matmul_fused_errors() {
  const ValueType x{DType::f32, {2, 5}}, q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  const auto with = [](std::int64_t outputs, const char* program) {
    return Attributes{{"outputs", outputs}, {"program", std::string(program)}};
  };
  const char* bias = "%2 = add(%0, %1); return %2";
  return {{{x, q, scale, {DType::f32, {17}}}, with(17, bias), "must be [2, 2, 16, 4]"},
          {{x, q, scale, {DType::f32, {2, 1}}},
           with(3, bias),
           "%1 must have the product's shape [2, 3], one element per column"},
          {{x, q, scale}, with(3, bias), "the program has 2 inputs, but 1"}};
}

}  // namespace

void add_samples(QuantizedMatmulOps, OpSamples& all) {
  all.add("quantized_matmul", quantized_matmul_samples, quantized_matmul_errors);
  all.add("quantized_matmul_fused", quantized_matmul_fused_samples, quantized_matmul_fused_errors);
}

}  // namespace weft
