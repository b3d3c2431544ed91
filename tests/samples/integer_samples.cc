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

/// Returns levels from -128 to 127.
Tensor sample_levels(const Sizes& sizes, std::uint64_t seed) {
  const Tensor from = sample_indices(sizes, seed, 256);
  Tensor levels = Tensor::empty(DType::i8, sizes);
  for (std::int64_t i = 0; i < levels.numel(); ++i) {
    levels.mutable_data<std::int8_t>()[i] =
        static_cast<std::int8_t>(from.data<std::int64_t>()[i] - 128);
  }
  return levels;
}

/// Adds a product of levels [..., inputs] for every format.
void add_products(std::vector<OpSample>& samples, const Sizes& sizes, std::int64_t outputs,
                  const char* program = nullptr, const std::vector<Sizes>& operands = {},
                  bool quantize = false) {
  for (const auto format : {QuantizedFormat::int8, QuantizedFormat::int4, QuantizedFormat::q8_0}) {
    const QuantizedMatrix m = sample_quantized(format, sizes.back(), outputs);
    const Tensor step = sample_uniform(Sizes(sizes.begin(), sizes.end() - 1), 52, 0.01, 0.02);
    OpSample sample{{sample_levels(sizes, 53), step, m.q, m.scale}, {{"outputs", outputs}}};
    if (program != nullptr) sample.attributes.set("program", std::string(program));
    if (quantize) sample.attributes.set("quantize", true);
    if (!operands.empty()) sample.inputs.push_back(Tensor());
    std::uint32_t seed = 54;
    for (const Sizes& operand : operands) sample.inputs.push_back(sample_uniform(operand, seed++));
    samples.push_back(std::move(sample));
  }
}

/// Adds products with a zero point, with and without scales.
void add_zero_points(std::vector<OpSample>& samples, const Sizes& sizes, std::int64_t outputs,
                     const char* program = nullptr, const std::vector<Sizes>& operands = {}) {
  for (const bool scaled : {false, true}) {
    const QuantizedMatrix m = sample_quantized(QuantizedFormat::int8, sizes.back(), outputs);
    const Tensor step = sample_uniform(Sizes(sizes.begin(), sizes.end() - 1), 52, 0.01, 0.02);
    OpSample sample{{sample_levels(sizes, 53), scaled ? step : Tensor(), m.q,
                     scaled ? m.scale : Tensor(), sample_levels({}, 50)},
                    {{"outputs", outputs}}};
    if (program != nullptr) sample.attributes.set("program", std::string(program));
    std::uint32_t seed = 54;
    for (const Sizes& operand : operands) sample.inputs.push_back(sample_uniform(operand, seed++));
    samples.push_back(std::move(sample));
  }
}

/// Adds convolutions of images [2, 7, 6, channels], with and without scales and zero points.
void add_integer_convs(std::vector<OpSample>& samples, std::int64_t channels, Attributes windows,
                       const char* program = nullptr) {
  const auto& kernel = windows.integers("kernel");
  const std::int64_t inputs = kernel[0] * kernel[1] * channels, outputs = 20;
  windows.set("outputs", outputs);
  if (program != nullptr) windows.set("program", std::string(program));
  const QuantizedMatrix m = sample_quantized(QuantizedFormat::int8, inputs, outputs);
  const Tensor images = sample_levels({2, 7, 6, channels}, 53);
  samples.push_back({{images, Tensor(), m.q}, windows});
  samples.push_back({{images, Tensor(), m.q, Tensor(), sample_levels({}, 50)}, windows});
}

std::vector<OpSample> integer_matmul_samples() {
  std::vector<OpSample> samples;
  using Pair = std::vector<std::int64_t>;
  add_integer_convs(samples, 3, {{"kernel", Pair{3, 2}}});
  add_integer_convs(samples, 5, {{"kernel", Pair{3, 3}}, {"padding", Pair{1, 2}}});
  add_integer_convs(samples, 1, {{"kernel", Pair{7, 1}}, {"padding", Pair{3, 0}}});
  add_integer_convs(samples, 4, {{"kernel", Pair{1, 1}}, {"stride", Pair{2, 3}}});
  add_integer_convs(samples, 2,
                    {{"kernel", Pair{2, 3}},
                     {"stride", Pair{2, 1}},
                     {"padding", Pair{1, 1}},
                     {"dilation", Pair{3, 2}}});
  for (const std::int64_t rows : {1, 3, 6, 17, 70}) add_zero_points(samples, {rows, 70}, 35);
  add_zero_points(samples, {2, 2, 7}, 400);
  add_zero_points(samples, {0, 5}, 3);
  add_zero_points(samples, {2, 0}, 3);
  for (std::int64_t rows = 1; rows <= 13; ++rows) add_products(samples, {rows, 70}, 35);
  add_products(samples, {1, 96}, 48);
  add_products(samples, {1}, 1);
  add_products(samples, {33}, 15);
  add_products(samples, {2, 2, 7}, 16);
  add_products(samples, {3, 11, 40}, 150);
  add_products(samples, {17, 530}, 80);
  add_products(samples, {0, 5}, 3);
  add_products(samples, {2, 0}, 3);
  add_products(samples, {2, 3}, 0);
  return samples;
}

std::vector<OpSample> integer_matmul_fused_samples() {
  std::vector<OpSample> samples;
  const char* gelu = "%2 = add(%0, %1); %3 = gelu_tanh(%2); return %2, %3";
  const char* residual = "%4 = add(%0, %1); %5 = mul(%4, %3); %6 = add(%2, %5); return %6";
  const char* scaled = "%2 = cast(%0, dtype=f32); %3 = mul(%2, %1); return %3";
  add_zero_points(samples, {20, 33}, 48, scaled, {{48}});
  add_zero_points(samples, {2, 0}, 48, scaled, {{48}});
  add_integer_convs(
      samples, 5,
      {{"kernel", std::vector<std::int64_t>{3, 3}}, {"padding", std::vector<std::int64_t>{1, 1}}},
      "%1 = cast(%0, dtype=f32); %2 = relu(%1); return %2");
  const char* narrow = "%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2";
  add_products(samples, {1, 70}, 35, gelu, {{35}});
  add_products(samples, {3, 40}, 150, residual, {{150}, {3, 150}, {}});
  add_products(samples, {2, 1, 33}, 48, residual, {{48}, {2, 1, 48}, {1, 1}});
  add_products(samples, {20, 530}, 150, gelu, {{1, 150}});
  add_products(samples, {19, 12}, 20, narrow);
  add_products(samples, {0, 5}, 3, gelu, {{3}});
  add_products(samples, {2, 0}, 3, gelu, {{3}});
  add_products(samples, {2, 3}, 0, gelu, {{0}});
  // Few rows, blocks of whole rows (more than 2 MiB of results), and empty results.
  const char* biased = "%2 = add(%0, %1); %3 = relu(%2); return %3";
  add_products(samples, {3, 40}, 150, biased, {{150}}, true);
  add_products(samples, {2, 2, 33}, 48, "%1 = relu(%0); %2 = neg(%1); return %1, %2", {}, true);
  add_products(samples, {331, 3}, 1600, biased, {{1600}}, true);
  add_products(samples, {0, 5}, 3, biased, {{3}}, true);
  add_products(samples, {2, 0}, 3, biased, {{3}}, true);
  add_products(samples, {2, 3}, 0, biased, {{0}}, true);
  return samples;
}

std::vector<OpErrorSample> integer_matmul_errors() {
  const ValueType levels{DType::i8, {2, 5}}, step{DType::f32, {2}}, q{DType::i8, {1, 2, 16, 4}},
      scale{DType::f32, {1, 16}};
  const Attributes three{{"outputs", std::int64_t{3}}};
  return {{{{DType::f32, {2, 5}}, step, q, scale}, three, "levels must be i8, but is f32"},
          {{{DType::i8, {}}, step, q, scale}, three, "levels must have at least 1 ax"},
          {{levels, {DType::f64, {2}}, q, scale}, three, "step must be f32, but is f64"},
          {{levels, {DType::f32, {2, 1}}, q, scale}, three, "step"},
          {{levels, step, q},
           {{"outputs", std::int64_t{3}}, {"kernel", std::vector<std::int64_t>{2, 2}}},
           "step and scale must be given together"},
          {{levels, step, q, scale},
           {{"outputs", std::int64_t{3}}, {"kernel", std::vector<std::int64_t>{2, 2}}},
           "levels [N, H, W, C] must have 4 axes"},
          {{{DType::i8, {1, 2, 3, 4}}, step, q, scale},
           {{"outputs", std::int64_t{3}}, {"kernel", std::vector<std::int64_t>{3, 1}}},
           "a kernel of size 3 with dilation 1 spans 3, but the padded input size is only 2"},
          {{levels, step, q}, three, "step and scale must be given together"},
          {{levels, step, q, scale, {DType::u8, {}}}, three, "zero must be i8, but is u8"},
          {{levels, step, q, scale, {DType::i8, {1}}}, three, "zero must have 0 axes"},
          {{levels, step, {DType::i8, {1, 2, 16, 4}}, {DType::f16, {1, 1, 16}}, {DType::i8, {}}},
           three,
           "a zero point requires int8 weights"},
          {{levels, step, q, scale},
           {{"outputs", std::int64_t{17}}},
           "q of an int8 matrix [5, 17] must be [2, 2, 16, 4]"},
          {{levels, step, q, {DType::f64, {1, 16}}}, three, "must be f32 (int8) or f16 (q8_0)"},
          {{{DType::i8, {2, 131072}}, step, q, scale},
           three,
           "a sum of 131072 products of bytes can exceed 32 bits: levels may have at most 131071"}};
}

std::vector<OpErrorSample> integer_matmul_fused_errors() {
  const ValueType levels{DType::i8, {2, 5}}, step{DType::f32, {2}}, q{DType::i8, {1, 2, 16, 4}},
      scale{DType::f32, {1, 16}};
  const Attributes bias{{"outputs", std::int64_t{3}},
                        {"program", std::string("%2 = add(%0, %1); return %2")}};
  const ValueType zero{DType::i8, {}};
  return {{{levels, step, q, scale, zero, {DType::f32, {2, 1}}},
           bias,
           "%1 must have the product's shape [2, 3], one element per column"},
          {{levels, step, q, scale}, bias, "the program has 2 inputs, but 1"},
          {{levels, step, q, scale},
           {{"outputs", std::int64_t{3}},
            {"program", std::string("%1 = cast(%0, dtype=bf16); return %1")},
            {"quantize", true}},
           "result 0 must be f32 to be rounded to levels, but is bf16"},
          {{levels, step, q, scale},
           {{"outputs", std::int64_t{3}},
            {"program",
             std::string("%1 = relu(%0); %2 = neg(%1); %3 = neg(%2); %4 = neg(%3); %5 = neg(%4); "
                         "%6 = neg(%5); %7 = neg(%6); return %1, %2, %3, %4, %5, %6, %7")},
            {"quantize", true}},
           "with `quantize`, a program can have at most 6 results"}};
}

}  // namespace

void add_samples(IntegerOps, OpSamples& all) {
  all.add("fake_quantize", quantize_rows_samples, fake_quantize_errors);
  all.add("integer_matmul", integer_matmul_samples, integer_matmul_errors);
  all.add("integer_matmul_fused", integer_matmul_fused_samples, integer_matmul_fused_errors);
  all.add("quantize_rows", quantize_rows_samples, quantize_rows_errors);
}

}  // namespace weft
