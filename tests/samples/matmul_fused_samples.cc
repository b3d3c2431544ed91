// Samples of the operations in ops/products/matmul_fused.cc.
#include "weft/tests/samples/op_samples.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

constexpr char kBiasGelu[] = "%2 = add(%0, %1); %3 = gelu_tanh(%2); return %2, %3";
constexpr char kResidual[] = "%4 = add(%0, %1); %5 = mul(%4, %3); %6 = add(%2, %5); return %6";

std::vector<OpSample> matmul_fused_samples() {
  std::vector<OpSample> result;
  const auto add = [&](std::vector<Tensor> inputs, const char* program, bool ta = false,
                       bool tb = false) {
    result.push_back(
        {std::move(inputs),
         {{"program", std::string(program)}, {"transpose_a", ta}, {"transpose_b", tb}}});
  };
  const auto x = [](Sizes sizes, std::uint32_t seed) {
    return sample_uniform(std::move(sizes), seed);
  };
  add({x({3, 4}, 1), x({4, 5}, 2), x({5}, 3)}, kBiasGelu);
  add({x({1, 40}, 4), x({40, 130}, 5), x({1, 130}, 6)}, kBiasGelu);
  add({x({70, 30}, 7), x({30, 2}, 8), x({2}, 9)}, kBiasGelu);
  add({x({2, 3, 6}, 10), x({5, 6}, 11), x({5}, 12), x({2, 3, 5}, 13), x({}, 14)}, kResidual, false,
      true);
  add({x({2, 1, 6, 3}, 15), x({2, 6, 4}, 16), x({4}, 17), x({2, 2, 3, 4}, 18), x({1, 1}, 19)},
      kResidual, true);
  add({x({150, 70}, 20), x({70, 290}, 21), x({290}, 22), x({150, 290}, 23), x({1}, 24)}, kResidual);
  add({x({30, 3000}, 25), x({3000, 40}, 26), x({40}, 27)}, kBiasGelu);
  add({x({2, 0}, 28), x({0, 3}, 29), x({3}, 30)}, kBiasGelu);
  add({x({0, 3}, 31), x({3, 4}, 32), x({4}, 33)}, kBiasGelu);
  // Programs in which no result has the product's dtype, and programs with a random key.
  add({x({9, 20}, 34), x({20, 33}, 35)}, "%1 = relu(%0); %2 = cast(%1, dtype=bf16); return %2");
  add({x({20, 10}, 36), x({10, 33}, 37), Tensor::of<std::int64_t>({2}, {1234, 56})},
      "%2 = dropout(%0, %1, rate=0x1p-2, stream=9); return %2");
  return result;
}

std::vector<OpErrorSample> matmul_fused_errors() {
  const auto f32 = DType::f32;
  const auto attributes = [](const char* text) {
    return Attributes{{"program", std::string(text)}};
  };
  const char* bias = "%2 = add(%0, %1); return %2";
  return {{{{f32, {2, 3}}, {f32, {4, 5}}, {f32, {5}}},
           attributes(bias),
           "the summed axes of a (axis 1) and b (axis 0): 3 and 4 differ"},
          {{{f32, {2, 3}}, {f32, {3, 5}}, {f32, {2, 1}}},
           attributes(bias),
           "%1 must have the product's shape [2, 5], one element per column"},
          {{{f32, {2, 3}}, {f32, {3, 5}}, {f32, {4, 2, 5}}},
           attributes(bias),
           "%1 must have the product's shape [2, 5]"},
          {{{f32, {2, 3}}, {f32, {3, 5}}}, attributes(bias), "the program has 2 inputs, but 1"},
          {{{f32, {2, 3}}, {f32, {3, 5}}},
           attributes("%1 = relu(%0)"),
           "tile program: '; ' is missing"}};
}

}  // namespace

void add_samples(MatmulFusedOps, OpSamples& all) {
  all.add("matmul_fused", matmul_fused_samples, matmul_fused_errors);
}

}  // namespace weft
