// Compares products with quantised weights with their scalar models, for all possible weight bytes
// and for random sizes, rows and fused steps.
#include <boost/test/unit_test.hpp>

#include "weft/ops/quantized/quantized.h"
#include "weft/tests/ops/twin.h"

namespace weft::testing {
namespace {

struct Weights {
  Tensor q, scale;
  std::int64_t inputs = 0, outputs = 0;
  QuantizedFormat format = QuantizedFormat::int8;
};

/// Returns the weights of a random matrix that was quantised, or random bytes and scales.
Weights random_weights(Choices& c) {
  Weights w;
  w.inputs = c.one_of({0, 1, 3, 4, 5, 31, 32, 33, 64, 70, 130});
  w.outputs = c.one_of({0, 1, 2, 15, 16, 17, 33, 48, 129});
  w.format = static_cast<QuantizedFormat>(c.within(0, 2));
  if (c.chance(0.5)) {
    const bool transposed = c.chance(0.5);
    const QuantizedMatrix m = quantize_matrix(
        c.uniform(transposed ? Sizes{w.outputs, w.inputs} : Sizes{w.inputs, w.outputs}), w.format,
        transposed);
    w.q = m.q, w.scale = m.scale;
    return w;
  }
  w.q = Tensor::empty(quantized_dtype(w.format), quantized_sizes(w.format, w.inputs, w.outputs));
  auto* bytes = reinterpret_cast<std::uint8_t*>(w.q.mutable_raw());
  for (std::int64_t i = 0; i < w.q.numel(); ++i)
    bytes[i] = static_cast<std::uint8_t>(c.chance(0.1) ? 0x80 : c.within(0, 255));
  w.scale = c.uniform(quantized_scale_sizes(w.format, w.inputs, w.outputs))
                .to(quantized_scale_dtype(w.format));
  return w;
}

Attributes sizes_of(const Weights& w) { return {{"inputs", w.inputs}, {"outputs", w.outputs}}; }

Tensor random_rows(Choices& c, const Weights& w) {
  Sizes sizes;
  switch (c.within(0, 3)) {
    case 0: sizes = {c.within(0, 9)}; break;
    case 1: sizes = {c.one_of({1, 15, 16, 17, 40})}; break;
    case 2: sizes = {2, c.within(0, 5)}; break;
    default: break;
  }
  sizes.push_back(w.inputs);
  Tensor x = c.uniform(sizes, c.chance(0.15) ? DType::f64 : DType::f32);
  // Scales the first row so that the magnitudes of the rows differ widely.
  if (x.dtype() == DType::f32 && c.chance(0.3)) {
    const std::vector<double> factors = {0, 1e-40, 1e-20, 1e15};
    const auto factor = static_cast<float>(c.one_of(factors));
    for (std::int64_t i = 0; i < std::min(w.inputs, x.numel()); ++i)
      x.mutable_data<float>()[i] *= factor;
  }
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quantized_twin)

BOOST_AUTO_TEST_CASE(random_weights_match_the_scalar_model) {
  for_random_cases(40, 13000, [](Choices& c) {
    const Weights w = random_weights(c);
    Attributes a = sizes_of(w);
    a.set("dtype", c.chance(0.3) && w.scale.dtype() == DType::f16 ? DType::f64 : DType::f32);
    const Tensor index = c.indices(w.outputs == 0 ? Sizes{0} : Sizes{c.within(0, 5)}, w.outputs);
    check_twin("quantized_take", {w.q, w.scale, index}, a);
    a.set("transposed", c.chance(0.5));
    check_twin("dequantize", {w.q, w.scale}, a);
  });
}

BOOST_AUTO_TEST_CASE(random_products_match_the_scalar_model) {
  for_random_cases(120, 14000, [](Choices& c) {
    Weights w = random_weights(c);
    check_twin("quantized_matmul", {random_rows(c, w), w.q, w.scale}, {{"outputs", w.outputs}});
    std::swap(w.inputs, w.outputs);
    check_twin("quantized_matmul", {random_rows(c, w), w.q, w.scale},
               {{"outputs", w.outputs}, {"transpose", true}});
  });
}

BOOST_AUTO_TEST_CASE(random_grouped_products_match_the_scalar_model) {
  for_random_cases(80, 16000, [](Choices& c) {
    const auto format = static_cast<QuantizedFormat>(c.within(0, 2));
    const std::int64_t inputs = c.one_of({1, 3, 32, 33, 70, 130});
    const std::int64_t outputs = c.one_of({1, 2, 16, 17, 48, 140});
    Ints sizes(static_cast<std::size_t>(c.within(1, 5)));
    std::int64_t rows = c.chance(0.3) ? c.within(0, 3) : 0;
    for (std::int64_t& size : sizes) rows += size = c.one_of({0, 0, 1, 2, 5, 16, 17, 30});
    const auto groups = static_cast<std::int64_t>(sizes.size());
    const QuantizedMatrix w = sample_quantized_stack(format, groups, inputs, outputs);
    const bool transpose = c.chance(0.5);
    const Tensor x =
        c.uniform({rows, transpose ? outputs : inputs}, c.chance(0.15) ? DType::f64 : DType::f32);
    check_twin("quantized_grouped_matmul", {x, w.q, w.scale, Tensor::of({groups}, sizes)},
               {{"outputs", transpose ? inputs : outputs}, {"transpose", transpose}});
  });
}

BOOST_AUTO_TEST_CASE(random_products_with_steps_match_the_scalar_model) {
  for_random_cases(60, 15000, [](Choices& c) {
    const Weights w = random_weights(c);
    const Tensor x = random_rows(c, w);
    Sizes out = x.sizes();
    out.back() = w.outputs;
    const Tensor b = c.uniform(c.chance(0.5) ? out : Sizes{w.outputs}, x.dtype());
    check_twin("quantized_matmul_fused", {x, w.q, w.scale, b},
               {{"outputs", w.outputs},
                {"program", std::string("%2 = add(%0, %1); %3 = tanh(%2); return %3, %2")}});
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
