// Rounding of activations to bytes and products of bytes: exact values on every SIMD target and
// unit.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/graph/ir/graph.h"
#include "weft/ops/kernels/integer/integer_product.h"
#include "weft/ops/op.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/scalar_ops.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInf = std::numeric_limits<float>::infinity();

Tensor fake_quantize(const Tensor& x, const Tensor& scale = {}) {
  return evaluate_op(builtin_ops()->at("fake_quantize"), {x, scale})[0];
}

/// A row of n elements: the given ones, and zeros.
Tensor padded_row(std::vector<float> values, std::int64_t n) {
  values.resize(static_cast<std::size_t>(n));
  return Tensor::of<float>({1, n}, values);
}

BOOST_AUTO_TEST_SUITE(integer_rows)

BOOST_AUTO_TEST_CASE(dynamic_steps_round_to_nearest_even) {
  testing::for_each_simd_target([](const char* target) {
    for (const std::int64_t n : {6, 17, 64, 75}) {
      BOOST_TEST_CONTEXT(target << " " << n) {
        // The step is 1, because the largest magnitude is 127.
        const Tensor y = fake_quantize(padded_row({-127, 0.5f, 1.5f, -2.5f, 126.51f, -0.49f}, n));
        const std::vector<double> expected = {-127, 0, 2, -2, 127, 0};
        for (std::size_t i = 0; i < expected.size(); ++i)
          BOOST_TEST(y.at(static_cast<std::int64_t>(i)) == expected[i]);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(static_steps_clamp) {
  testing::for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      const Tensor x = padded_row({-20, 15.8f, 0.0625f, 0.1875f, kInf, -kInf, 1}, 40);
      const Tensor y = fake_quantize(x, Tensor::scalar(DType::f32, 0.125));
      const std::vector<double> expected = {-15.875, 15.75, 0, 0.25, 15.875, -15.875, 1};
      for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST(y.at(static_cast<std::int64_t>(i)) == expected[i]);
    }
  });
}

BOOST_AUTO_TEST_CASE(errors_are_at_most_half_a_step) {
  const Tensor x = sample_uniform({5, 90}, 3);
  const Tensor y = fake_quantize(x), wide = fake_quantize(x.to(DType::f64));
  BOOST_TEST((wide.dtype() == DType::f64));
  for (std::int64_t r = 0; r < 5; ++r) {
    double most = 0, largest = 0;
    for (std::int64_t i = r * 90; i < (r + 1) * 90; ++i) most = std::max(most, std::abs(x.at(i)));
    for (std::int64_t i = r * 90; i < (r + 1) * 90; ++i) {
      BOOST_REQUIRE_SMALL(y.at(i) - x.at(i), most / 254 * 1.00001);
      BOOST_REQUIRE_SMALL(wide.at(i) - x.at(i), most / 254 * 1.00001);
      largest = std::max(largest, std::abs(y.at(i)));
    }
    BOOST_REQUIRE_SMALL(largest / most - 1, 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(rows_with_nan_infinity_or_tiny_values_are_as_documented) {
  testing::for_each_simd_target([](const char* target) {
    for (const std::int64_t n : {3, 16, 67}) {
      BOOST_TEST_CONTEXT(target << " " << n) {
        Tensor x = Tensor::zeros(DType::f32, {5, n});
        auto* data = x.mutable_data<float>();
        for (std::int64_t i = 0; i < 5 * n; ++i) data[i] = 1;
        data[1] = kNan, data[n] = -kInf, data[4 * n] = 127;
        for (std::int64_t i = 0; i < n; ++i) data[2 * n + i] = 0x1p-101f, data[3 * n + i] = 0;
        const Tensor y = fake_quantize(x);
        for (std::int64_t i = 0; i < n; ++i) {
          BOOST_TEST((std::isnan(y.at(i)) && std::isnan(y.at(n + i))));
          BOOST_TEST((y.at(2 * n + i) == 0 && y.at(3 * n + i) == 0));
        }
        BOOST_TEST((y.at(4 * n) == 127 && y.at(4 * n + 1) == 1));
        const auto rows = evaluate_op(builtin_ops()->at("quantize_rows"), {x, Tensor()});
        BOOST_TEST((std::isnan(rows[1].at(0)) && std::isnan(rows[1].at(1))));
        BOOST_TEST((rows[0].at(0) == 0 && rows[0].at(n) == 0 && rows[0].at(4 * n) == 127));
        BOOST_TEST((rows[1].at(2) == 0 && rows[1].at(4) == 1));
        // With a static step, only NaN makes a row NaN.
        const Tensor fixed = fake_quantize(x, Tensor::scalar(DType::f32, 1));
        BOOST_TEST((std::isnan(fixed.at(n - 1)) && fixed.at(n) == -127 && fixed.at(n + 1) == 1));
      }
    }
  });
  for (const double scale : {0.0, -1.0, 0x1p-101, 0x1p101, static_cast<double>(kNan)}) {
    const Tensor y = fake_quantize(padded_row({1, 2}, 20), Tensor::scalar(DType::f32, scale));
    for (std::int64_t i = 0; i < 20; ++i) BOOST_TEST(std::isnan(y.at(i)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(integer_sums)

BOOST_AUTO_TEST_CASE(products_without_scales_require_int8_levels_and_no_rounding) {
  Graph g;
  const Value levels = g.input("levels", DType::i8, {2, 5});
  const auto error = [&](std::string_view op, const ValueType& q, Attributes attributes) {
    attributes.set("outputs", std::int64_t{3});
    try {
      g.apply(op, {levels, Value(), g.input("q" + std::to_string(g.node_count()), q)},
              std::move(attributes));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const ValueType wide{DType::i8, {1, 3, 16, 4}};
  BOOST_TEST(
      contains(error("integer_matmul", {DType::u8, {1, 2, 16, 4}}, {}), "q must be i8, but is u8"));
  BOOST_TEST(contains(error("integer_matmul", wide, {}),
                      "q of an int8 matrix [5, 3] must be [1, 2, 16, 4] (panels of 16 outputs)"));
  BOOST_TEST(contains(
      error("integer_matmul_fused", {DType::i8, {1, 2, 16, 4}},
            {{"program", std::string("%1 = cast(%0, dtype=f32); return %1")}, {"quantize", true}}),
      "`quantize` requires step and scale"));
}

BOOST_AUTO_TEST_SUITE_END()

// -- Products -------------------------------------------------------------------------------------

constexpr QuantizedFormat kFormats[] = {QuantizedFormat::int8, QuantizedFormat::int4,
                                        QuantizedFormat::q8_0};

/// A matrix with random bytes as levels, which include -128.
QuantizedMatrix random_bytes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs,
                             std::uint64_t seed) {
  QuantizedMatrix m = sample_quantized(format, inputs, outputs);
  const Tensor bytes = sample_indices({std::max<std::int64_t>(inputs * outputs, 1)}, seed, 256);
  std::int64_t at = 0;
  if (format == QuantizedFormat::int8) {
    const std::int64_t words = (inputs + 3) / 4;
    auto* q = m.q.mutable_data<std::int8_t>();
    for (std::int64_t j = 0; j < outputs; ++j) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        q[((j / 16 * words + i / 4) * 16 + j % 16) * 4 + i % 4] =
            static_cast<std::int8_t>(bytes.data<std::int64_t>()[at++] - 128);
      }
    }
    return m;
  }
  const QuantizedGroups groups(format, inputs, m.q.mutable_raw(), m.scale.mutable_data<Float16>());
  for (std::int64_t j = 0; j < outputs; ++j) {
    for (std::int64_t g = 0; g * kQuantizedGroup < inputs; ++g) {
      QuantizedGroup group{.scale = groups.get(j, g).scale};
      for (std::int64_t i = 0; i < std::min(kQuantizedGroup, inputs - g * kQuantizedGroup); ++i) {
        const std::int64_t byte = bytes.data<std::int64_t>()[at++] - 128;
        group.levels[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(format == QuantizedFormat::int4 ? byte >> 4 : byte);
      }
      groups.set(j, g, group);
    }
  }
  return m;
}

/// Multiplies with one unit, in tiles of `rows_at_once` rows and `panels_at_once` panels.
Tensor multiply_on(kernels::IntegerUnit unit, const Tensor& levels, const Tensor& steps,
                   const QuantizedMatrix& m, QuantizedFormat format, std::int64_t outputs,
                   std::int64_t rows_at_once, std::int64_t panels_at_once) {
  const std::int64_t rows = levels.size(0), inputs = levels.size(1), panels = m.q.size(0);
  const kernels::QuantizedWeights w{m.q.raw(), m.scale.raw(), format == QuantizedFormat::int4,
                                    inputs,    outputs,       format == QuantizedFormat::q8_0};
  const kernels::IntegerKernels& k = kernels::integer_kernels(unit);
  const auto prepared = Buffer::allocate(k.row_bytes(w) * static_cast<std::size_t>(rows));
  std::memset(prepared->data(), 0xA5, prepared->bytes());
  k.prepare(w, levels.data<std::int8_t>(), rows, prepared->data());
  Tensor y = Tensor::full(DType::f32, {rows, outputs}, -1);
  for (std::int64_t r = 0; r < rows; r += rows_at_once) {
    for (std::int64_t p = 0; p < panels; p += panels_at_once) {
      k.product(w, prepared->data() + k.row_bytes(w) * static_cast<std::size_t>(r),
                steps.data<float>() + r, std::min(rows_at_once, rows - r), p,
                std::min(panels, p + panels_at_once), y.mutable_data<float>() + r * outputs,
                outputs);
    }
  }
  return y;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

BOOST_AUTO_TEST_SUITE(integer_product)

BOOST_AUTO_TEST_CASE(all_units_and_blockings_return_the_bits_of_the_scalar_model) {
  const OpRecord& op = builtin_ops()->at("integer_matmul");
  testing::for_each_simd_target([&](const char* target) {
    for (const auto format : kFormats) {
      for (const std::int64_t inputs : {1, 3, 4, 31, 32, 33, 70, 515}) {
        for (const std::int64_t outputs : {1, 16, 37, 130}) {
          const std::int64_t rows = 35;
          Tensor levels = Tensor::empty(DType::i8, {rows, inputs});
          const Tensor random = sample_indices({rows, inputs}, 7, 256);
          for (std::int64_t i = 0; i < levels.numel(); ++i) {
            levels.mutable_data<std::int8_t>()[i] =
                static_cast<std::int8_t>(random.data<std::int64_t>()[i] - 128);
          }
          const Tensor steps = sample_uniform({rows}, 8);
          const QuantizedMatrix m = random_bytes(format, inputs, outputs, 9);
          const auto model =
              testing::scalar_outputs(op, {levels, steps, m.q, m.scale}, {{"outputs", outputs}});
          const Tensor expected = testing::to_tensor(model[0]);
          BOOST_TEST_CONTEXT(target << " " << quantized_format_name(format) << " " << inputs << "x"
                                    << outputs) {
            for (const auto unit : kernels::integer_units()) {
              BOOST_TEST_CONTEXT(kernels::integer_unit_name(unit)) {
                // The last blocks have every number of rows from one to six.
                for (const auto& [rows_at_once, panels] :
                     {std::pair{35, 100}, {17, 3}, {10, 5}, {8, 4}}) {
                  BOOST_REQUIRE(same_bits(
                      multiply_on(unit, levels, steps, m, format, outputs, rows_at_once, panels),
                      expected));
                }
              }
            }
            BOOST_REQUIRE(
                same_bits(evaluate_op(op, {levels, steps, m.q, m.scale}, {{"outputs", outputs}})[0],
                          expected));
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(sums_with_starts_are_exact_on_all_units) {
  testing::for_each_simd_target([&](const char* target) {
    for (const auto unit : kernels::integer_units()) {
      for (const auto& [rows, inputs, outputs] :
           {std::array<std::int64_t, 3>{35, 70, 37}, {16, 256, 130}, {1, 5, 16}}) {
        BOOST_TEST_CONTEXT(target << " " << kernels::integer_unit_name(unit) << " " << rows) {
          const QuantizedMatrix m = random_bytes(QuantizedFormat::int8, inputs, outputs, 9);
          const Tensor levels = Tensor::full(DType::i8, {rows, inputs}, -3);
          std::vector<std::int32_t> start(static_cast<std::size_t>(m.q.size(0) * 16));
          for (std::size_t j = 0; j < start.size(); ++j)
            start[j] = (1 << 24) + static_cast<std::int32_t>(j);
          kernels::QuantizedWeights w{.q = m.q.raw(), .inputs = inputs, .outputs = outputs};
          w.start = start.data();
          const kernels::IntegerKernels& k = kernels::integer_kernels(unit);
          const auto prepared = Buffer::allocate(k.row_bytes(w) * static_cast<std::size_t>(rows));
          k.prepare(w, levels.data<std::int8_t>(), rows, prepared->data());
          Tensor y = Tensor::empty(DType::i32, {rows, outputs});
          auto* const out = reinterpret_cast<float*>(y.mutable_raw());
          k.product(w, prepared->data(), out, rows, 0, m.q.size(0), out, outputs);
          const std::int64_t words = (inputs + 3) / 4;
          for (std::int64_t j = 0; j < outputs; ++j) {
            std::int64_t expected = start[static_cast<std::size_t>(j)];
            for (std::int64_t i = 0; i < inputs; ++i) {
              expected -=
                  3 * m.q.data<std::int8_t>()[((j / 16 * words + i / 4) * 16 + j % 16) * 4 + i % 4];
            }
            for (std::int64_t r = 0; r < rows; ++r)
              BOOST_REQUIRE(y.data<std::int32_t>()[r * outputs + j] == expected);
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(the_longest_sums_of_extreme_bytes_do_not_overflow) {
  const std::int64_t inputs = kernels::kMaxIntegerInputs;
  QuantizedMatrix m = sample_quantized(QuantizedFormat::int8, inputs, 1);
  std::memset(m.q.mutable_raw(), -128, m.q.bytes());
  m.scale.mutable_data<float>()[0] = 1;
  const std::int64_t rows = 18;  // more than one tile of AMX
  const Tensor steps = Tensor::full(DType::f32, {rows}, 1);
  Tensor levels = Tensor::full(DType::i8, {rows, inputs}, -128);
  std::fill_n(levels.mutable_data<std::int8_t>() + inputs, inputs, std::int8_t{127});
  testing::for_each_simd_target([&](const char* target) {
    for (const auto unit : kernels::integer_units()) {
      BOOST_TEST_CONTEXT(target << " " << kernels::integer_unit_name(unit)) {
        const Tensor y = multiply_on(unit, levels, steps, m, QuantizedFormat::int8, 1, rows, 1);
        BOOST_TEST(y.at(0) == static_cast<float>(inputs * 128 * 128));
        BOOST_TEST(y.at(1) == -static_cast<float>(inputs * 127 * 128));
        BOOST_TEST(y.at(rows - 1) == y.at(0));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(every_simd_target_uses_its_own_unit) {
  testing::for_each_simd_target([](const char* target) {
    const auto unit = kernels::integer_unit();
    BOOST_TEST_CONTEXT(target) {
      BOOST_TEST((unit != kernels::IntegerUnit::emulated_avx_vnni));
      BOOST_TEST((unit != kernels::IntegerUnit::emulated_amx_int8));
      if (std::string_view(target) == "SSSE3") BOOST_TEST((unit == kernels::IntegerUnit::madd));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
