// Samples of the operations in ops/quantized/quantize_rows.cc and ops/quantized/integer_matmul.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

// Gradients are not compared with differences, because the ops are step functions.
std::vector<OpSample> quantize_rows_samples() {
  std::vector<OpSample> samples;
  for (const Sizes& sizes :
       {Sizes{1}, {37}, {3, 5}, {2, 3, 16}, {2, 70}, {1, 131}, {0, 4}, {3, 0}, {2, 0, 3}}) {
    const Tensor x = sample_uniform(sizes, 51);
    samples.push_back({{x, Tensor()}, {}, {0, 1}});
    for (const double scale : {0.0078125, 0.013, 0.0})
      samples.push_back({{x, Tensor::scalar(DType::f32, scale)}, {}, {0, 1}});
  }
  return samples;
}

std::vector<OpErrorSample> row_errors(const std::string& dtypes) {
  const ValueType x{DType::f32, {2, 5}};
  return {{{{DType::f32, {}}}, {}, "x must have at least 1 ax"},
          {{{DType::bf16, {2, 5}}}, {}, "x must be " + dtypes + ", but is bf16"},
          {{x, {DType::f32, {1}}}, {}, "scale must have 0 axes"},
          {{x, {DType::f64, {}}}, {}, "different dtypes, f32 and f64"}};
}
std::vector<OpErrorSample> fake_quantize_errors() { return row_errors("f32 or f64"); }
std::vector<OpErrorSample> quantize_rows_errors() { return row_errors("f32"); }

}  // namespace

void add_samples(IntegerOps, OpSamples& all) {
  all.add("fake_quantize", quantize_rows_samples, fake_quantize_errors);
  all.add("quantize_rows", quantize_rows_samples, quantize_rows_errors);
}

}  // namespace weft
