#include "weft/ops/quantized/quantized.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/quantized/quantized.h"
#include "weft/ops/kernels/quantized/quantized_dot.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

constexpr auto kInt8 = QuantizedFormat::int8, kInt4 = QuantizedFormat::int4,
               kQ8_0 = QuantizedFormat::q8_0;

Tensor dequantize(const QuantizedMatrix& m, std::int64_t inputs, std::int64_t outputs,
                  bool transposed = false) {
  return evaluate_op(builtin_ops()->at("dequantize"), {m.q, m.scale},
                     {{"inputs", inputs}, {"outputs", outputs}, {"transposed", transposed}})[0];
}

Tensor multiply(const Tensor& x, const QuantizedMatrix& m, std::int64_t outputs) {
  return evaluate_op(builtin_ops()->at("quantized_matmul"), {x, m.q, m.scale},
                     {{"outputs", outputs}})[0];
}

double rms(const Tensor& a) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) sum += a.at(i) * a.at(i);
  return std::sqrt(sum / static_cast<double>(a.numel()));
}

double rms_difference(const Tensor& a, const Tensor& b) {
  BOOST_REQUIRE(a.sizes() == b.sizes());
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) sum += std::pow(a.at(i) - b.at(i), 2);
  return std::sqrt(sum / static_cast<double>(a.numel()));
}

template <class E, class F>
void check_message(const F& run, const std::string& part) {
  BOOST_CHECK_EXCEPTION(run(), E, testing::message_contains({part}));
}

BOOST_AUTO_TEST_SUITE(quantized)

BOOST_AUTO_TEST_CASE(int8_errors_are_at_most_half_a_quantisation_step) {
  const Tensor w = sample_uniform({70, 37}, 1);
  const QuantizedMatrix m = quantize_matrix(w, kInt8, false);
  const Tensor back = dequantize(m, 70, 37);
  for (std::int64_t j = 0; j < 37; ++j) {
    double extreme = 0;
    for (std::int64_t i = 0; i < 70; ++i) extreme = std::max(extreme, std::abs(w.at(i * 37 + j)));
    for (std::int64_t i = 0; i < 70; ++i) {
      const std::int64_t at = i * 37 + j;
      BOOST_REQUIRE_SMALL(back.at(at) - w.at(at), extreme / 127 * 0.5001);
    }
  }
}

BOOST_AUTO_TEST_CASE(q8_0_errors_are_at_most_half_a_step_of_the_group) {
  const Tensor w = sample_uniform({70, 37}, 1);
  const Tensor back = dequantize(quantize_matrix(w, kQ8_0, false), 70, 37);
  for (std::int64_t j = 0; j < 37; ++j) {
    for (std::int64_t first = 0; first < 70; first += 32) {
      const std::int64_t last = std::min<std::int64_t>(first + 32, 70);
      double extreme = 0;
      for (std::int64_t i = first; i < last; ++i)
        extreme = std::max(extreme, std::abs(w.at(i * 37 + j)));
      // The scale is rounded to f16.
      for (std::int64_t i = first; i < last; ++i)
        BOOST_REQUIRE_SMALL(back.at(i * 37 + j) - w.at(i * 37 + j), extreme / 127 * 0.5005);
    }
  }
}

BOOST_AUTO_TEST_CASE(int4_errors_are_within_one_step_and_smaller_than_with_the_plain_scale) {
  const Tensor w = sample_uniform({96, 16}, 2);
  const QuantizedMatrix m = quantize_matrix(w, kInt4, false);
  const Tensor back = dequantize(m, 96, 16);
  double error = 0, plain = 0;
  for (std::int64_t j = 0; j < 16; ++j) {
    for (std::int64_t g = 0; g < 3; ++g) {
      double extreme = 0;
      for (std::int64_t i = 32 * g; i < 32 * g + 32; ++i) {
        if (std::abs(w.at(i * 16 + j)) > std::abs(extreme)) extreme = w.at(i * 16 + j);
      }
      const double step = extreme / -8;
      for (std::int64_t i = 32 * g; i < 32 * g + 32; ++i) {
        const std::int64_t at = i * 16 + j;
        BOOST_REQUIRE_SMALL(back.at(at) - w.at(at), std::abs(extreme) / 7);
        const double rounded = std::min(7.0, std::nearbyint(w.at(at) / step)) * step;
        error += std::pow(back.at(at) - w.at(at), 2);
        plain += std::pow(rounded - w.at(at), 2);
      }
    }
  }
  BOOST_TEST(error < plain);
}

BOOST_AUTO_TEST_CASE(multiples_of_the_quantisation_step_round_trip_exactly) {
  // Every channel and every group contains an extreme value: -8 steps of 0.25, or 127 steps of 0.5.
  const auto matrix = [](const std::function<double(std::int64_t row)>& value) {
    Tensor w = Tensor::empty(DType::f32, {64, 20});
    for (std::int64_t i = 0; i < w.numel(); ++i)
      w.mutable_data<float>()[i] = static_cast<float>(value(i / 20));
    return w;
  };
  const Tensor four = matrix([](std::int64_t row) { return (row * 7 % 16 - 8) * 0.25; });
  const Tensor eight =
      matrix([](std::int64_t row) { return (row % 2 == 0 ? -0.5 : 0.5) * (2 * row + 1); });
  BOOST_TEST(rms_difference(dequantize(quantize_matrix(four, kInt4, false), 64, 20), four) == 0);
  BOOST_TEST(rms_difference(dequantize(quantize_matrix(eight, kInt8, false), 64, 20), eight) == 0);
  BOOST_TEST(rms_difference(dequantize(quantize_matrix(eight, kQ8_0, false), 64, 20), eight) <
             0.25);
  const Tensor small = matrix([](std::int64_t row) { return (row % 32 * 8 - 121) * 0.25; });
  BOOST_TEST(rms_difference(dequantize(quantize_matrix(small, kQ8_0, false), 64, 20), small) == 0);
}

BOOST_AUTO_TEST_CASE(the_layout_is_as_documented) {
  Tensor w = Tensor::zeros(DType::f32, {40, 18});
  w.mutable_data<float>()[33 * 18 + 17] = -8;  // panel 1, lane 1; group 1; the extreme is -8 steps
  const QuantizedMatrix four = quantize_matrix(w, kInt4, false);
  BOOST_TEST((four.q.sizes() == Sizes{2, 8, 16, 4}));
  BOOST_TEST((four.scale.sizes() == Sizes{2, 2, 16}));
  // Input 33 is stored in the high half of byte 0 of block 4.
  const std::int64_t at = ((1 * 8 + 4) * 16 + 1) * 4;
  for (std::int64_t i = 0; i < four.q.numel(); ++i)
    BOOST_REQUIRE_EQUAL(four.q.data<std::uint8_t>()[i], i == at ? 0x80 : 0);
  BOOST_TEST(four.scale.at((1 * 2 + 1) * 16 + 1) == 1.0);

  const QuantizedMatrix eight = quantize_matrix(w, kInt8, false);
  BOOST_TEST((eight.q.sizes() == Sizes{2, 10, 16, 4}));
  BOOST_TEST((eight.scale.sizes() == Sizes{2, 16}));
  for (std::int64_t i = 0; i < eight.q.numel(); ++i)
    BOOST_REQUIRE_EQUAL(eight.q.data<std::int8_t>()[i],
                        i == ((10 + 8) * 16 + 1) * 4 + 1 ? -127 : 0);

  const QuantizedMatrix grouped = quantize_matrix(w, kQ8_0, false);
  BOOST_TEST((bitwise_equal(grouped.q, eight.q)));
  BOOST_TEST((grouped.scale.dtype() == DType::f16));
  BOOST_TEST((grouped.scale.sizes() == Sizes{2, 2, 16}));
  for (std::int64_t i = 0; i < grouped.scale.numel(); ++i) {
    BOOST_REQUIRE_EQUAL(grouped.scale.at(i), i == (1 * 2 + 1) * 16 + 1
                                                 ? Tensor::scalar(DType::f16, 8.0 / 127).at(0)
                                                 : 0);
  }
}

BOOST_AUTO_TEST_CASE(groups_are_read_and_written_at_their_place) {
  for (const auto format : {kInt4, kQ8_0}) {
    for (const std::int64_t inputs : {1, 5, 31, 32, 33, 70}) {
      const Tensor w = sample_uniform({inputs, 19}, 16);
      const QuantizedMatrix from = quantize_matrix(w, format, false);
      QuantizedMatrix to{Tensor::full(from.q.dtype(), from.q.sizes(), 1),
                         Tensor::full(DType::f16, from.scale.sizes(), 1)};
      const auto groups_of = [&](const QuantizedMatrix& m) {
        return QuantizedGroups(format, inputs, const_cast<std::byte*>(m.q.raw()),
                               reinterpret_cast<Float16*>(const_cast<std::byte*>(m.scale.raw())));
      };
      const QuantizedGroups source = groups_of(from), target = groups_of(to);
      const Tensor floats = dequantize(from, inputs, 19);
      for (std::int64_t j = 0; j < 32; ++j) {
        for (std::int64_t g = 0; g < (inputs + 31) / 32; ++g) {
          const QuantizedGroup group = source.get(j, g);
          target.set(j, g, group);
          for (std::int64_t i = 0; i < 32; ++i) {
            const std::int64_t input = 32 * g + i;
            const float value = group.levels[static_cast<std::size_t>(i)] * to_float(group.scale);
            BOOST_REQUIRE_EQUAL(value, input < inputs && j < 19 ? floats.at(input * 19 + j) : 0.0);
          }
        }
      }
      BOOST_TEST(bitwise_equal(to.q, from.q));
      BOOST_TEST(bitwise_equal(to.scale, from.scale));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_transposed_matrix_gives_the_same_bytes) {
  const Tensor w = sample_uniform({50, 21}, 3);
  Tensor t = Tensor::empty(DType::f32, {21, 50});
  for (std::int64_t i = 0; i < 50; ++i) {
    for (std::int64_t j = 0; j < 21; ++j)
      t.mutable_data<float>()[j * 50 + i] = w.data<float>()[i * 21 + j];
  }
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    const QuantizedMatrix a = quantize_matrix(w, format, false),
                          b = quantize_matrix(t, format, true);
    BOOST_TEST(bitwise_equal(a.q, b.q));
    BOOST_TEST(bitwise_equal(a.scale, b.scale));
    const Tensor rows = dequantize(a, 50, 21), columns = dequantize(a, 50, 21, true);
    for (std::int64_t i = 0; i < 50; ++i) {
      for (std::int64_t j = 0; j < 21; ++j)
        BOOST_REQUIRE_EQUAL(rows.at(i * 21 + j), columns.at(j * 50 + i));
    }
  }
}

BOOST_AUTO_TEST_CASE(products_match_float_products_on_every_simd_target) {
  testing::for_each_simd_target([](const char* target) {
    for (const auto format : {kInt8, kInt4, kQ8_0}) {
      for (const std::int64_t inputs : {1, 3, 31, 32, 33, 64, 101, 515, 1030}) {
        for (const std::int64_t outputs : {1, 15, 16, 17, 40, 129}) {
          const Tensor w = sample_uniform({inputs, outputs}, 4);
          const QuantizedMatrix m = quantize_matrix(w, format, false);
          const Tensor floats = dequantize(m, inputs, outputs);
          for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 16, 17, 40}) {
            if (rows > 8 && outputs < 17) continue;
            const Tensor x = sample_uniform({rows, inputs}, 5);
            const Tensor expected = testing::reference_matmul(x, floats, false, false);
            const Tensor actual = multiply(x, m, outputs);
            BOOST_REQUIRE((actual.sizes() == expected.sizes()));
            for (std::int64_t i = 0; i < actual.numel(); ++i) {
              BOOST_TEST_CONTEXT(target << " " << quantized_format_name(format) << " " << rows
                                        << "x" << inputs << "x" << outputs << " element " << i)
              BOOST_REQUIRE_SMALL(actual.at(i) - expected.at(i),
                                  3e-7 * (static_cast<double>(inputs) + 3));
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(all_product_kernels_give_the_same_results) {
  testing::for_each_simd_target([](const char* target) {
    for (const auto format : {kInt8, kInt4, kQ8_0}) {
      for (const std::int64_t inputs : {1, 30, 64, 333}) {
        const std::int64_t outputs = 37, rows = 7;
        const QuantizedMatrix m =
            quantize_matrix(sample_uniform({inputs, outputs}, 9), format, false);
        const Tensor floats = dequantize(m, inputs, outputs);
        const Tensor x = sample_uniform({rows, inputs}, 10);
        const Tensor expected = testing::reference_matmul(x, floats, false, false);
        Tensor y = Tensor::empty(DType::f32, {rows, outputs});
        kernels::quantized_product_fma(
            {m.q.raw(), m.scale.raw(), format == kInt4, inputs, outputs, format == kQ8_0},
            x.data<float>(), rows, 0, 3, y.mutable_data<float>());
        BOOST_TEST_CONTEXT(target << " " << quantized_format_name(format) << " " << inputs) {
          BOOST_TEST(rms_difference(y, expected) <= 2e-7 * rms(expected) * std::sqrt(inputs + 3.0));
          BOOST_TEST(rms_difference(multiply(x, m, outputs), expected) <=
                     2e-7 * rms(expected) * std::sqrt(inputs + 3.0));
        }
      }
    }
  });
}

// Rows with values that cannot be quantised to bytes are multiplied as floats and must give correct
// results.
BOOST_AUTO_TEST_CASE(rows_with_extreme_values_give_correct_results) {
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    const QuantizedMatrix m = quantize_matrix(sample_uniform({40, 5}, 11, 0.5, 1.5), format, false);
    const Tensor floats = dequantize(m, 40, 5);
    for (const float scale : {0.0f, 1e-44f, 1e-38f, 1e-30f, 1e-20f, 1e30f}) {
      Tensor x = sample_uniform({1, 40}, 12, 0.5, 1.5);
      for (std::int64_t i = 0; i < 40; ++i) x.mutable_data<float>()[i] *= scale;
      const Tensor expected = testing::reference_matmul(x, floats, false, false);
      const Tensor y = multiply(x, m, 5);
      BOOST_TEST_CONTEXT(scale) {
        BOOST_TEST(rms_difference(y, expected) <= 2e-6 * rms(expected) + 1e-43);
      }
    }
    for (const float value : {INFINITY, -INFINITY, NAN}) {
      Tensor x = sample_uniform({2, 40}, 13);
      x.mutable_data<float>()[7] = value;
      const Tensor y = multiply(x, m, 5);
      for (std::int64_t j = 0; j < 5; ++j) {
        BOOST_TEST((std::isnan(value) ? std::isnan(y.at(j)) : y.at(j) == value));
        BOOST_TEST(std::isfinite(y.at(5 + j)));
      }
    }
  }
}

// Small weights are multiplied by large numbers. No partial sum may be larger than the result.
// Rows that need another kernel do not change the bits of their neighbours.
BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_with_and_without_extreme_neighbours) {
  if (!kernels::uses_byte_dots()) return;
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    const QuantizedMatrix m = sample_quantized(format, 70, 37);
    Tensor x = sample_uniform({16, 70}, 2);
    x.mutable_data<float>()[5 * 70 + 3] = std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < 70; ++i) x.mutable_data<float>()[9 * 70 + i] *= 1e-32f;
    const Tensor all = multiply(x, m, 37);
    for (const std::int64_t count : {1, 2, 3, 4}) {
      for (std::int64_t first = 0; first + count <= 16; ++first) {
        const Tensor some = Tensor::of<float>(
            {count, 70},
            std::span(x.data<float>() + first * 70, static_cast<std::size_t>(count * 70)));
        const Tensor part = multiply(some, m, 37);
        for (std::int64_t r = 0; r < count; ++r) {
          if (first + r == 5 || first + r == 9) continue;  // these rows do not use dot products
          BOOST_TEST(std::memcmp(part.data<float>() + r * 37, all.data<float>() + (first + r) * 37,
                                 37 * sizeof(float)) == 0);
        }
      }
    }
  }
}

// Many rows are multiplied in several blocks and, because blocks need memory, in several steps.
BOOST_AUTO_TEST_CASE(byte_dot_products_compute_many_rows_like_single_rows) {
  if (!kernels::uses_byte_dots()) return;
  const kernels::ForcedBf16Unit without_matrix_units(std::nullopt);
  for (const auto& [rows, inputs] : {std::pair{600, 70}, {150, 5000}}) {
    for (const auto format : {kInt8, kInt4, kQ8_0}) {
      const QuantizedMatrix m = sample_quantized(format, inputs, 37);
      const Tensor x = sample_uniform({rows, inputs}, 25);
      const Tensor all = multiply(x, m, 37);
      for (std::int64_t r = 0; r < rows; ++r) {
        const Tensor row = Tensor::of<float>(
            {1, inputs}, std::span(x.data<float>() + r * inputs, static_cast<std::size_t>(inputs)));
        BOOST_TEST_CONTEXT(quantized_format_name(format) << " row " << r)
        BOOST_REQUIRE(std::memcmp(multiply(row, m, 37).data<float>(), all.data<float>() + r * 37,
                                  37 * sizeof(float)) == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(partial_sums_of_large_values_do_not_overflow) {
  testing::for_each_simd_target([](const char* target) {
    for (const auto format : {kInt8, kInt4, kQ8_0}) {
      const Tensor w = sample_uniform({40, 37}, 14, -0.01, 0.01);
      const QuantizedMatrix m = quantize_matrix(w, format, false);
      const Tensor floats = dequantize(m, 40, 37);
      for (const std::int64_t rows : {1, 3, 16, 17}) {
        Tensor x = sample_uniform({rows, 40}, 15);
        for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] *= 1e38f;
        const Tensor expected = testing::reference_matmul(x, floats, false, false);
        BOOST_TEST_CONTEXT(target << " " << quantized_format_name(format) << " " << rows)
        BOOST_TEST(rms_difference(multiply(x, m, 37), expected) <= 2e-6 * rms(expected));
      }
    }
  });
}

// With many rows, the weights are converted to floats or to bfloat16 for the engines of matrix
// products.
BOOST_AUTO_TEST_CASE(products_with_many_rows_have_float32_accuracy_on_matrix_units) {
  for (const auto unit :
       {std::optional(kernels::Bf16Unit::emulated_amx), std::optional<kernels::Bf16Unit>()}) {
    const kernels::ForcedBf16Unit forced(unit);
    testing::for_each_simd_target([&](const char* target) {
      for (const auto format : {kInt8, kInt4}) {
        for (const std::int64_t inputs : {1, 33, 515, 1030}) {
          for (const std::int64_t outputs : {1, 40, 129, 2050}) {
            if (inputs > 100 && outputs > 1000) continue;
            const std::int64_t rows = inputs == 33 ? 200 : 17;
            const QuantizedMatrix m =
                quantize_matrix(sample_uniform({inputs, outputs}, 16), format, false);
            const Tensor floats = dequantize(m, inputs, outputs);
            const Tensor x = sample_uniform({rows, inputs}, 17);
            const Tensor expected = testing::reference_matmul(x, floats, false, false);
            BOOST_TEST_CONTEXT(target << " " << quantized_format_name(format) << " " << rows << "x"
                                      << inputs << "x" << outputs)
            BOOST_TEST(rms_difference(multiply(x, m, outputs), expected) <=
                       2e-7 * rms(expected) * std::sqrt(static_cast<double>(inputs) + 3.0));
          }
        }
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(medium_precision_rounds_the_activations_of_many_rows_only) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_amx);
  const QuantizedMatrix m = quantize_matrix(sample_uniform({70, 40}, 22), kInt8, false);
  const auto product = [&](Precision precision, const Tensor& x) {
    return testing::evaluate_at(precision, "quantized_matmul", {x, m.q, m.scale},
                                {{"outputs", std::int64_t{40}}})[0];
  };
  const Tensor many = sample_uniform({33, 70}, 23), few = sample_uniform({16, 70}, 24);
  const Tensor rounded = many.to(DType::bf16).to(DType::f32);
  BOOST_TEST(bitwise_equal(product(Precision::medium, many), product(Precision::medium, rounded)));
  BOOST_TEST(!bitwise_equal(product(Precision::medium, many), product(Precision::highest, many)));
  BOOST_TEST(bitwise_equal(product(Precision::medium, few), product(Precision::highest, few)));
}

BOOST_AUTO_TEST_CASE(without_matrix_units_no_precision_rounds_activations) {
  const kernels::ForcedBf16Unit forced(std::nullopt);
  const QuantizedMatrix m = quantize_matrix(sample_uniform({70, 40}, 22), kInt8, false);
  const Tensor x = sample_uniform({33, 70}, 23);
  const auto product = [&](Precision precision) {
    return testing::evaluate_at(precision, "quantized_matmul", {x, m.q, m.scale},
                                {{"outputs", std::int64_t{40}}})[0];
  };
  BOOST_TEST(bitwise_equal(product(Precision::medium), product(Precision::highest)));
}

// The scale of a channel is applied after the product, in which the weights are integers times a
// power of two.
BOOST_AUTO_TEST_CASE(products_with_many_rows_use_scales_of_any_size_and_sign) {
  testing::for_each_simd_target([](const char* target) {
    for (const auto unit :
         {std::optional(kernels::Bf16Unit::emulated_amx), std::optional<kernels::Bf16Unit>()}) {
      const kernels::ForcedBf16Unit forced(unit);
      QuantizedMatrix m = quantize_matrix(sample_uniform({40, 37}, 18, -127, 127), kInt8, false);
      const float scales[] = {1, -3, 0.7f, 0, 1e-42f, 0x1p-126f, -1e-30f, 1e30f, 0x1.8p110f};
      m.scale = m.scale.clone();
      for (std::int64_t j = 0; j < 37; ++j) m.scale.mutable_data<float>()[j] = scales[j % 9];
      const Tensor x = sample_uniform({18, 40}, 19), floats = dequantize(m, 40, 37);
      const Tensor y = multiply(x, m, 37);
      for (std::int64_t r = 0; r < 18; ++r) {
        for (std::int64_t j = 0; j < 37; ++j) {
          double sum = 0, magnitude = 0;
          for (std::int64_t i = 0; i < 40; ++i) {
            sum += x.at(r * 40 + i) * floats.at(i * 37 + j);
            magnitude += std::abs(x.at(r * 40 + i) * floats.at(i * 37 + j));
          }
          BOOST_TEST_CONTEXT(target << " scale " << scales[j % 9])
          BOOST_REQUIRE_SMALL(y.at(r * 37 + j) - sum, 3e-6 * magnitude + 1e-44 * 40);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(infinite_and_large_values_affect_only_their_row_if_there_are_many_rows) {
  for (const auto unit :
       {std::optional(kernels::Bf16Unit::emulated_amx), std::optional<kernels::Bf16Unit>()}) {
    const kernels::ForcedBf16Unit forced(unit);
    for (const auto format : {kInt8, kInt4}) {
      const QuantizedMatrix m =
          quantize_matrix(sample_uniform({40, 37}, 20, 0.005, 0.01), format, false);
      const Tensor floats = dequantize(m, 40, 37);
      Tensor x = sample_uniform({40, 40}, 21, 0.5, 1.5);
      const Tensor plain = multiply(x, m, 37);
      float* const values = x.mutable_data<float>();
      values[3 * 40 + 5] = INFINITY;
      values[7 * 40 + 1] = NAN;
      for (std::int64_t i = 0; i < 40; ++i) values[9 * 40 + i] *= 1e38f;
      const Tensor y = multiply(x, m, 37);
      for (std::int64_t j = 0; j < 37; ++j) {
        double large = 0;
        for (std::int64_t i = 0; i < 40; ++i) large += x.at(9 * 40 + i) * floats.at(i * 37 + j);
        BOOST_TEST(y.at(3 * 37 + j) == INFINITY);
        BOOST_TEST(std::isnan(y.at(7 * 37 + j)));
        BOOST_TEST(std::abs(y.at(9 * 37 + j) / large - 1) < 1e-5);
        for (const std::int64_t r : {0, 2, 4, 8, 10, 39})
          BOOST_TEST(y.at(r * 37 + j) == plain.at(r * 37 + j));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(product_errors_are_bounded_by_weight_quantisation) {
  // The weights are uniform: a step is 3 / 254 or about 3 / 16, and the error is uniform within
  // half a step.
  const Tensor w = sample_uniform({768, 64}, 6), x = sample_uniform({4, 768}, 7);
  const Tensor exact = testing::reference_matmul(x, w, false, false);
  const double eight = rms_difference(multiply(x, quantize_matrix(w, kInt8, false), 64), exact);
  const double four = rms_difference(multiply(x, quantize_matrix(w, kInt4, false), 64), exact);
  const double grouped = rms_difference(multiply(x, quantize_matrix(w, kQ8_0, false), 64), exact);
  BOOST_TEST(grouped < eight);
  BOOST_TEST(eight / rms(exact) < 0.005);
  BOOST_TEST(four / rms(exact) < 0.08);
}

BOOST_AUTO_TEST_CASE(zeros_tiny_weights_and_empty_matrices_are_supported) {
  for (const auto format : {kInt8, kInt4, kQ8_0}) {
    const Tensor zeros = Tensor::zeros(DType::f32, {33, 5});
    BOOST_TEST(rms(dequantize(quantize_matrix(zeros, format, false), 33, 5)) == 0);
    for (const Sizes& sizes : {Sizes{0, 4}, Sizes{4, 0}}) {
      const QuantizedMatrix m = quantize_matrix(Tensor::zeros(DType::f32, sizes), format, false);
      BOOST_TEST((dequantize(m, sizes[0], sizes[1]).sizes() == sizes));
    }
  }
  // int4 cannot represent a scale below the smallest f16, so the weights become 0.
  const Tensor tiny = Tensor::full(DType::f32, {32, 1}, 1e-9);
  BOOST_TEST(rms(dequantize(quantize_matrix(tiny, kInt4, false), 32, 1)) == 0);
  // The smallest scale of q8_0 is 2^-24. It is rounded up when 127 steps would not reach the
  // extreme.
  for (const double extreme : {1e-9, 6e-8, 7e-6, 1.2e-5, 1e-4}) {
    Tensor w = Tensor::zeros(DType::f32, {32, 1});
    w.mutable_data<float>()[3] = static_cast<float>(-extreme);
    w.mutable_data<float>()[4] = static_cast<float>(extreme / 3);
    const Tensor back = dequantize(quantize_matrix(w, kQ8_0, false), 32, 1);
    for (const std::int64_t i : {3, 4}) {
      BOOST_TEST(std::abs(back.at(i) - w.at(i)) <=
                 std::max(std::ldexp(1.001, -25), extreme / 127 * 0.75));
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_int8_are_levels_followed_by_a_scale) {
  const OpRecord &pack = builtin_ops()->at("pack_int8_rows"),
                 &unpack = builtin_ops()->at("unpack_int8_rows");
  const Tensor x = Tensor::of<float>({2, 5}, {127, -127, 0.5f, 1.5f, -63.4f, 0, 0, 0, 0, 0});
  testing::for_each_simd_target([&](const char*) {
    const Tensor packed = evaluate_op(pack, {x}, {})[0];
    BOOST_TEST((packed.sizes() == Sizes{2, 9}));
    const std::int8_t levels[] = {127, -127, 0, 2, -63};  // ties are rounded to even
    BOOST_TEST(std::memcmp(packed.raw(), levels, 5) == 0);
    float scales[2];
    std::memcpy(&scales[0], packed.data<std::int8_t>() + 5, 4);
    std::memcpy(&scales[1], packed.data<std::int8_t>() + 14, 4);
    BOOST_TEST(scales[0] == 1.0f);
    BOOST_TEST(scales[1] == 0.0f);
    const Tensor back = evaluate_op(unpack, {packed}, {})[0];
    BOOST_TEST(back.data<float>()[4] == -63.0f);
    for (const std::int64_t size : {1, 3, 16, 31, 64, 129}) {
      const Tensor rows = sample_uniform({7, size}, 3);
      const Tensor small = evaluate_op(pack, {rows}, {})[0];
      const Tensor numbers = evaluate_op(unpack, {small}, {})[0];
      double largest = 0;
      for (std::int64_t i = 0; i < rows.numel(); ++i)
        largest = std::max(largest, std::abs(rows.at(i)));
      BOOST_REQUIRE_SMALL(testing::max_difference(numbers, rows), largest * 0.5 / 127 + 1e-6);
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_of_int8_with_nan_infinity_or_tiny_values_are_as_documented) {
  const OpRecord& pack = builtin_ops()->at("pack_int8_rows");
  constexpr std::int64_t kSize = 37;
  struct Case {
    float first, second;
    std::int8_t levels[2];
    float scale;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {{NAN, 1, {0, 0}, NAN},
                        {3, infinity, {0, 0}, NAN},
                        {-infinity, 0, {0, 0}, NAN},
                        {0x1p-149F, -0x1p-148F, {0, 0}, 0},
                        {0x1.fp-101F, -0x1p-101F, {0, 0}, 0},
                        {0x1p-100F, -0x1p-101F, {127, -64}, 0x1p-100F / 127},
                        {3e38F, -1.5e38F, {127, -64}, 3e38F / 127}};
  testing::for_each_simd_target([&](const char* target) {
    for (const Case& one : cases) {
      for (const std::int64_t at : {std::int64_t{0}, kSize - 2}) {
        BOOST_TEST_CONTEXT(target << ": " << one.first << ", " << one.second << " at " << at) {
          Tensor x = Tensor::zeros(DType::f32, {1, kSize});
          x.mutable_data<float>()[at] = one.first;
          x.mutable_data<float>()[at + 1] = one.second;
          const Tensor packed = evaluate_op(pack, {x}, {})[0];
          for (std::int64_t i = 0; i < kSize; ++i)
            BOOST_TEST(packed.at(i) == (i == at || i == at + 1 ? one.levels[i - at] : 0));
          float scale;
          std::memcpy(&scale, packed.data<std::int8_t>() + kSize, 4);
          BOOST_TEST((scale == one.scale || (std::isnan(scale) && std::isnan(one.scale))), scale);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(invalid_matrices_are_rejected) {
  Tensor w = Tensor::zeros(DType::f32, {4, 3});
  w.mutable_data<float>()[5] = std::numeric_limits<float>::infinity();
  check_message<DataError>([&] { quantize_matrix(w, kInt8, false); },
                           "weight [1, 2] is inf: only finite weights can be int8");
  w.mutable_data<float>()[5] = 1e6f;
  check_message<DataError>([&] { quantize_matrix(w, kInt4, false); },
                           "weight [1, 2] is 1000000: int4 can represent at most 524032");
  w.mutable_data<float>()[5] = -1e7f;
  check_message<DataError>(
      [&] { quantize_matrix(w, kQ8_0, false); },
      "weight [1, 2] is -10000000: q8_0 can represent at most 8319008 (its scales are f16)");
  w.mutable_data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  check_message<DataError>([&] { quantize_matrix(w, kQ8_0, false); },
                           "weight [1, 2] is nan: only finite weights can be q8_0");
  check_message<DTypeError>(
      [&] {
        quantize_matrix(Tensor::zeros(DType::f64, {4, 3}), kInt8, false);
      },
      "only f32 matrices can be quantised, not f64[4, 3]");
  check_message<ShapeError>([&] { quantize_matrix(Tensor::zeros(DType::f32, {4}), kInt8, false); },
                            "only matrices can be quantised, not f32[4]");
}

BOOST_AUTO_TEST_CASE(a_row_index_beyond_the_matrix_is_a_data_error) {
  const QuantizedMatrix m = quantize_matrix(sample_uniform({8, 5}, 8), kInt8, false);
  check_message<DataError>(
      [&] {
        evaluate_op(builtin_ops()->at("quantized_take"),
                    {m.q, m.scale, Tensor::of<std::int64_t>({1}, {5})},
                    {{"inputs", std::int64_t{8}}, {"outputs", std::int64_t{5}}});
      },
      "the number of matrix rows is");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
