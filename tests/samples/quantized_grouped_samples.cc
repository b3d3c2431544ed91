// Samples of the operation in ops/quantized/quantized_grouped.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<OpSample> quantized_grouped_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](std::int64_t rows, std::int64_t depth, std::int64_t outputs,
                       const Ints& sizes, DType dtype = DType::i64) {
    const auto groups = static_cast<std::int64_t>(sizes.size());
    for (const auto format :
         {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
      for (const bool transpose : {false, true}) {
        const QuantizedMatrix w = transpose
                                      ? sample_quantized_stack(format, groups, outputs, depth)
                                      : sample_quantized_stack(format, groups, depth, outputs);
        samples.push_back({{sample_uniform({rows, depth}, 41), w.q, w.scale,
                            Tensor::of({groups}, sizes).to(dtype)},
                           {{"outputs", outputs}, {"transpose", transpose}}});
      }
    }
  };
  add(2, 40, 35, {0, 1, 0, 1});  // the choices of one token
  add(9, 33, 20, {4, 0, 3, 2}, DType::i32);
  add(7, 5, 150, {2, 3});        // rows without a group
  add(40, 530, 17, {0, 38, 2});  // rows that are multiplied directly, and by converted weights
  add(3, 3, 2, {0, 0, 0});
  add(0, 3, 2, {0, 0});
  add(3, 2, 2, {});
  add(3, 0, 2, {1, 2});
  add(3, 2, 0, {1, 2});
  return samples;
}

std::vector<OpErrorSample> quantized_grouped_errors() {
  const ValueType x{DType::f32, {7, 5}}, q{DType::i8, {2, 1, 2, 16, 4}},
      scale{DType::f32, {2, 1, 16}}, sizes{DType::i64, {2}};
  const Attributes three{{"outputs", std::int64_t{3}}};
  return {
      {{x, q, scale, {DType::i64, {3}}},
       three,
       "q of an int8 matrix [5, 3] must be [3, 1, 2, 16, 4]"},
      {{x, q, {DType::f32, {1, 16}}, sizes}, three, "must be [2, 1, 16]"},
      {{{DType::f32, {5}}, q, scale, sizes}, three, "x must have 2 axes, but f32[5] has 1"},
      {{{DType::bf16, {7, 5}}, q, scale, sizes}, three, "x must be f32 or f64, but is bf16"},
      {{{DType::f32, {7, 9}}, q, scale, sizes}, three, "must be [2, 1, 3, 16, 4]"},
      {{x, q, scale, {DType::f32, {2}}}, three, "sizes must be i32 or i64, but is f32"},
      {{x, q, scale, {DType::i64, {1, 2}}}, three, "sizes must have 1 axes"},
      {{x, q, {DType::f64, {2, 1, 16}}, sizes}, three, "but is f64"},
  };
}

}  // namespace

void add_samples(QuantizedGroupedOps, OpSamples& all) {
  all.add("quantized_grouped_matmul", quantized_grouped_samples, quantized_grouped_errors);
}

}  // namespace weft
