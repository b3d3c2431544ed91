// Runs matmul at every precision on every matrix unit, through the phases that all products share.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/bf16_split/engine.h"
#include "weft/ops/kernels/gemm/few_rows.h"
#include "weft/tests/ops/engine_gemm.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/reference/bf16_split.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using kernels::Bf16Unit;

struct Product {
  Sizes a, b;
  bool ta = false, tb = false;
};

Tensor matmul(const Product& p, const Tensor& a, const Tensor& b, Precision precision) {
  return testing::evaluate_at(precision, "matmul", {a, b},
                              {{"transpose_a", p.ta}, {"transpose_b", p.tb}})[0];
}

// Returns the largest error relative to |a b| at each precision (panel.h), not counting the
// rounding of sums.
double left_out(Precision precision) {
  switch (precision) {
    case Precision::medium: return 0x1p-7;
    case Precision::high: return 0x3p-16;
    case Precision::highest: break;
  }
  return 0x1p-23;
}

template <class Body>
void for_each_unit_and_precision(const Body& body) {
  for (const Bf16Unit unit :
       {Bf16Unit::emulated_amx, Bf16Unit::amx, Bf16Unit::emulated_dot, Bf16Unit::dot}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
      const kernels::ForcedBf16Unit forced(unit);
      if (kernels::choose_bf16_split_engine(precision, 64, 64, 64) == nullptr) continue;
      BOOST_TEST_CONTEXT(kernels::bf16_unit_name(unit) << " at " << precision_name(precision)) {
        body(precision);
      }
    }
  }
}

// The dot product of a row and a bfloat16 column. Blocks of K are added in order. A block
// has 16 lanes, each a chain of instructions along K. The upper half of the lanes is added to the
// lower half until one lane is left.
float block_dot(const float* a, const BFloat16* b, std::int64_t k) {
  float lanes[16] = {};
  const auto pair = [&](std::int64_t p, const auto& entry) {
    const std::uint32_t low = p < k ? entry(p) : 0u, high = p + 1 < k ? entry(p + 1) : 0u;
    return low | high << 16;
  };
  const auto bits = [](BFloat16 x) {
    std::uint16_t result;
    std::memcpy(&result, &x, sizeof(result));
    return std::uint32_t{result};
  };
  for (std::int64_t p = 0; p < k; p += 2) {
    float& lane = lanes[p / 2 % 16];
    lane = testing::reference_vdpbf16ps(
        lane, pair(p, [&](std::int64_t q) { return bits(to_bfloat16(a[q])); }),
        pair(p, [&](std::int64_t q) { return bits(b[q]); }));
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

float lane_dot(const float* a, const BFloat16* b, std::int64_t k) {
  float sum = block_dot(a, b, std::min<std::int64_t>(k, 1024));
  for (std::int64_t p = 1024; p < k; p += 1024)
    sum += block_dot(a + p, b + p, std::min<std::int64_t>(k - p, 1024));
  return sum;
}

float fma_dot(const float* a, const BFloat16* b, std::int64_t k) {
  float sum = 0;
  for (std::int64_t p = 0; p < k; ++p) sum = std::fma(a[p], to_float(b[p]), sum);
  return sum;
}

template <class Body>
void for_each_dot_unit(const Body& body) {
  for (const Bf16Unit unit : {Bf16Unit::emulated_dot, Bf16Unit::dot}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    BOOST_TEST_CONTEXT(kernels::bf16_unit_name(unit)) { body(unit); }
  }
}

BOOST_AUTO_TEST_SUITE(bf16_split_driver)

BOOST_AUTO_TEST_CASE(batches_and_transposes_are_supported_at_every_precision) {
  const Product products[] = {{{40, 70}, {70, 50}},
                              {{70, 40}, {70, 50}, true, false},
                              {{40, 70}, {50, 70}, false, true},
                              {{70, 40}, {50, 70}, true, true},
                              {{2, 3, 20, 35}, {2, 3, 35, 40}},
                              {{2, 1, 20, 35}, {3, 40, 35}, false, true},
                              {{20, 35}, {2, 3, 35, 40}},
                              {{3, 35, 20}, {35, 40}, true, false},
                              {{3, 20, 35}, {35, 40}},
                              {{2, 70}, {70, 50}},
                              {{40, 70}, {70, 3}},
                              {{250, 300}, {300, 530}},   // tiles, both panels shared
                              {{70, 2100}, {2100, 40}},   // a depth that is split into ranges
                              {{1300, 130}, {130, 100}},  // strips
                              {{0, 4, 5}, {5, 6}},
                              {{4, 0}, {0, 6}}};
  for_each_unit_and_precision([&](Precision precision) {
    for (const Product& p : products) {
      const Tensor a = sample_uniform(p.a, 1), b = sample_uniform(p.b, 2);
      const Tensor expected = testing::reference_matmul(a, b, p.ta, p.tb);
      const Tensor c = matmul(p, a, b, precision);
      const std::int64_t k = a.size(p.ta ? -2 : -1);
      const double relative = left_out(precision) + static_cast<double>(k + 20) * 0x1p-24;
      for (std::int64_t i = 0; i < c.numel(); ++i) {
        // |a| and |b| are below 1.5.
        BOOST_REQUIRE_SMALL(c.at(i) - expected.at(i), relative * 2.25 * static_cast<double>(k));
      }
    }
  });
}

// Neither splitting C into tiles nor packing in several steps changes any bit (splitting the depth
// would).
BOOST_AUTO_TEST_CASE(the_driver_matches_the_engine_bit_for_bit) {
  for_each_unit_and_precision([&](Precision precision) {
    const kernels::GemmEngine& engine = *kernels::choose_bf16_split_engine(precision, 64, 64, 64);
    for (const auto& [m, n, k] : {std::tuple{40, 50, 70}, {250, 530, 300}, {1300, 100, 130}}) {
      Tensor a = sample_uniform({m, k}, 3), b = sample_uniform({k, n}, 4);
      a.mutable_data<float>()[7 * k + 3] = 1e-38f;
      b.mutable_data<float>()[5 * n + 33] = INFINITY;
      const Tensor whole = testing::engine_gemm(engine, a, b);
      const Tensor c = matmul({{}, {}}, a, b, precision);
      BOOST_TEST(std::memcmp(c.raw(), whole.raw(), c.bytes()) == 0, m << " " << n << " " << k);
    }
  });
}

// Attention and convolutions pack both operands again for every tile. This makes six products too
// slow to be selected automatically, but a test can force them.
BOOST_AUTO_TEST_CASE(attention_and_convolution_tiles_honour_the_precision) {
  const auto in_double = [](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> result;
    for (const Tensor& t : tensors) result.push_back(t.defined() ? t.to(DType::f64) : t);
    return result;
  };
  const auto check = [&](const char* op, const std::vector<Tensor>& inputs,
                         const Attributes& attributes, Precision precision) {
    const auto actual = testing::evaluate_at(precision, op, inputs, attributes);
    const auto expected = testing::evaluate_at(precision, op, in_double(inputs), attributes);
    for (std::size_t o = 0; o < actual.size(); ++o) {
      double worst = 0, largest = 0;
      for (std::int64_t i = 0; i < actual[o].numel(); ++i) {
        worst = std::max(worst, std::abs(actual[o].at(i) - expected[o].at(i)));
        largest = std::max(largest, std::abs(expected[o].at(i)));
      }
      if (largest == 0) continue;  // the gradient of an absent operand
      const double error = worst / largest;
      BOOST_TEST_CONTEXT(op << " output " << o << ", error " << error) {
        switch (precision) {
          case Precision::medium: BOOST_TEST((error > 1e-4 && error < 2e-2)); break;
          case Precision::high: BOOST_TEST((error > 3e-7 && error < 3e-5)); break;
          case Precision::highest: BOOST_TEST(error < 2e-6); break;
        }
      }
    }
  };
  const Tensor q = sample_uniform({1, 2, 140, 40}, 1), k = sample_uniform({1, 2, 150, 40}, 2),
               v = sample_uniform({1, 2, 150, 36}, 3), g = sample_uniform({1, 2, 140, 36}, 4);
  const Attributes causal{{"causal", true}, {"scale", 0.5}};
  const auto forward = evaluate_op(builtin_ops()->at("attention"), {q, k, v}, causal);
  const Tensor x = sample_uniform({2, 6, 12, 13}, 5), w = sample_uniform({40, 6, 3, 3}, 6);
  const Attributes geometry = builtin_ops()->at("conv2d").complete({});
  for_each_unit_and_precision([&](Precision precision) {
    check("attention", {q, k, v}, causal, precision);
    check("attention_grad", {g, forward[0], forward[1], q, k, v}, causal, precision);
    check("conv2d", {x, w}, geometry, precision);
  });
}

// Probabilities can be as small as denormals. Such values must not cause whole rows to fall back to
// multiply-adds or change the result. With scores that differ by 70, the smaller probability is
// 2^-101.
BOOST_AUTO_TEST_CASE(attention_supports_vanishing_probabilities) {
  Tensor q = Tensor::full(DType::f32, {1, 1, 64, 32}, 0), k = sample_uniform({1, 1, 64, 32}, 1),
         v = sample_uniform({1, 1, 64, 32}, 2);
  for (std::int64_t i = 0; i < 64; ++i) {
    q.mutable_data<float>()[i * 32] = 1;
    k.mutable_data<float>()[i * 32] = i % 2 == 0 ? 35.0f : -35.0f;
  }
  const Attributes plain{{"scale", 1.0}};
  const auto expected = evaluate_op(builtin_ops()->at("attention"), {q, k, v}, plain);
  for_each_unit_and_precision([&](Precision precision) {
    const auto actual = testing::evaluate_at(precision, "attention", {q, k, v}, plain);
    const double tolerance = precision == Precision::medium ? 1e-2 : 1e-5;
    for (std::int64_t i = 0; i < actual[0].numel(); ++i) {
      BOOST_REQUIRE_SMALL(actual[0].at(i) - expected[0].at(i), tolerance);
    }
  });
}

// The bits of an element depend on its row and its column only, so one model describes every number
// of rows.
BOOST_AUTO_TEST_CASE(few_rows_and_bfloat16_columns_are_multiplied_by_dot_instructions) {
  for_each_dot_unit([](Bf16Unit unit) {
    const kernels::ForcedBf16Unit forced(unit);
    for (const std::int64_t m : {1, 2, 3, 4, 5, 8, 9, 16}) {
      for (const auto& [n, k] :
           {std::pair{1, 2}, {7, 31}, {8, 32}, {9, 33}, {19, 100}, {85, 1100}}) {
        const Tensor a = sample_uniform({m, k}, 1);
        const Tensor b = sample_uniform({n, k}, 2).to(DType::bf16);
        const Tensor c = matmul({{}, {}, false, true}, a, b, Precision::medium);
        for (std::int64_t i = 0; i < c.numel(); ++i) {
          BOOST_REQUIRE_EQUAL(c.data<float>()[i], lane_dot(a.data<float>() + i / n * k,
                                                           b.data<BFloat16>() + i % n * k, k));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(few_rows_use_multiply_adds_for_entries_that_dot_instructions_lose) {
  constexpr std::int64_t m = 9, n = 21, k = 70;
  Tensor a = sample_uniform({m, k}, 1), wide = sample_uniform({n, k}, 2);
  // 2^127 * 1.999 rounds to infinity; products of 2^-60 and 2^-50 might lose bits; 1e-39 is
  // denormal.
  float* x = a.mutable_data<float>();
  x[1 * k + 3] = INFINITY, x[2 * k + 5] = NAN, x[3 * k + 69] = 1e-39f, x[4 * k] = 0x1.fffffep127f;
  x[5 * k + 9] = 0x1p-60f;
  float* y = wide.mutable_data<float>();
  y[2 * k + 7] = INFINITY, y[3 * k + 66] = 0x1p-130f, y[20 * k + 1] = 0x1p-50f;
  y[11 * k + 4] = 0x1p127f, y[11 * k + 5] = 0x1p127f;
  for (std::int64_t p = 0; p < k; ++p) y[6 * k + p] = 0;
  x[0 * k + 4] = 1, x[0 * k + 5] = 1.5f;  // 2^127 + 1.5 * 2^127 is infinite
  const Tensor b = wide.to(DType::bf16);
  const auto is_exact = [](std::int64_t i, std::int64_t j) {
    return (i >= 1 && i <= 4) || j == 2 || j == 3 || (i == 5 && j == 20) || (i == 0 && j == 11);
  };
  for_each_dot_unit([&](Bf16Unit unit) {
    const kernels::ForcedBf16Unit forced(unit);
    const Tensor c = matmul({{}, {}, false, true}, a, b, Precision::medium);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const float* row = x + i * k;
        const BFloat16* column = b.data<BFloat16>() + j * k;
        float expected = lane_dot(row, column, k);
        if (is_exact(i, j) || !std::isfinite(expected)) expected = fma_dot(row, column, k);
        const float actual = c.data<float>()[i * n + j];
        BOOST_TEST_CONTEXT("row " << i << " column " << j << ": " << actual << " " << expected)
        BOOST_REQUIRE((actual == expected || (std::isnan(actual) && std::isnan(expected))));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(few_rows_use_multiply_adds_for_a_single_denormal) {
  constexpr std::int64_t m = 2, n = 9, k = 40;
  for (const bool in_row : {true, false}) {
    Tensor a = sample_uniform({m, k}, 1), wide = sample_uniform({n, k}, 2);
    (in_row ? a : wide).mutable_data<float>()[k + 3] = 0x1p-130f;
    const Tensor b = wide.to(DType::bf16);
    for_each_dot_unit([&](Bf16Unit unit) {
      const kernels::ForcedBf16Unit forced(unit);
      const Tensor c = matmul({{}, {}, false, true}, a, b, Precision::medium);
      for (std::int64_t i = 0; i < c.numel(); ++i) {
        const float* row = a.data<float>() + i / n * k;
        const BFloat16* column = b.data<BFloat16>() + i % n * k;
        const bool is_exact = (in_row ? i / n : i % n) == 1;
        BOOST_REQUIRE_EQUAL(c.data<float>()[i],
                            is_exact ? fma_dot(row, column, k) : lane_dot(row, column, k));
      }
    });
  }
}

BOOST_AUTO_TEST_CASE(few_rows_are_added_to_the_result) {
  constexpr std::int64_t m = 3, n = 9, k = 40;
  const Tensor a = sample_uniform({m, k}, 1), b = sample_uniform({n, k}, 2).to(DType::bf16);
  std::vector<float> c(m * n, 0.5f);
  const auto rounded = Buffer::allocate(kernels::few_rows_bytes(m, k));
  const auto scratch = Buffer::allocate(kernels::few_rows_scratch_bytes());
  const kernels::SkinnyGemm g{.m = m,
                              .n = n,
                              .k = k,
                              .a = {a.raw(), DType::f32, k, 1},
                              .b = {b.raw(), DType::bf16, 1, k},
                              .c = c.data(),
                              .c_row_stride = n,
                              .accumulate = true};
  for (std::int64_t row = 0; row < kernels::dot_rows(m); ++row)
    kernels::round_few_rows(Bf16Unit::emulated_dot, g.a, m, k, row, rounded->data());
  kernels::few_rows_gemm(Bf16Unit::emulated_dot, g, rounded->data(), scratch->data());
  for (std::int64_t i = 0; i < m * n; ++i) {
    BOOST_REQUIRE_EQUAL(
        c[static_cast<std::size_t>(i)],
        0.5f + lane_dot(a.data<float>() + i / n * k, b.data<BFloat16>() + i % n * k, k));
  }
}

BOOST_AUTO_TEST_CASE(few_rows_use_dot_instructions_at_medium_precision_only) {
  for (const Precision precision : {Precision::highest, Precision::high})
    BOOST_TEST(!kernels::choose_few_rows_unit(precision, 1000, 1000).has_value());
  const bool has_dots = kernels::bf16_cpu().fast_dot;
  BOOST_TEST(kernels::choose_few_rows_unit(Precision::medium, 32, 32).has_value() == has_dots);
  BOOST_TEST(!kernels::choose_few_rows_unit(Precision::medium, 31, 1000).has_value());
  BOOST_TEST(!kernels::choose_few_rows_unit(Precision::medium, 1000, 31).has_value());
  for (const auto unit : {std::optional(Bf16Unit::emulated_amx), std::optional<Bf16Unit>()}) {
    const kernels::ForcedBf16Unit forced(unit);
    BOOST_TEST(!kernels::choose_few_rows_unit(Precision::medium, 1000, 1000).has_value());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
