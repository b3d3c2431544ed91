#include <boost/test/unit_test.hpp>
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/pack.h"
#include "weft/ops/kernels/gemm/bf16_split/panel.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/bf16_split.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using kernels::MatrixSource;
using kernels::OperandSide;

// Returns entry (i, k) of term t in a panel with the layout described in panel.h.
float entry(const std::byte* panel, OperandSide side, int terms, int t, std::int64_t i,
            std::int64_t k) {
  const std::int64_t slice = k / 32, half = i / 16, q = k % 32 / 2;
  const std::int64_t tile = (slice * terms + t) * 2 + half;
  const std::int64_t pair = side == OperandSide::a ? i % 16 * 16 + q : q * 16 + i % 16;
  std::uint32_t bits;
  std::memcpy(&bits, kernels::panel_tiles(panel) + tile * 1024 + pair * 4, sizeof(bits));
  return k % 2 == 0 ? testing::lower_bf16(bits) : testing::upper_bf16(bits);
}

std::uint32_t magnitude(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7FFFFFFFu;
}

// Packs `across` x depth entries of `source`, whose element (i, k) must equal values(i, k), and
// checks all packed entries.
template <class Values>
void check_panels(OperandSide side, int terms, const MatrixSource& source, std::int64_t across,
                  std::int64_t depth, const Values& values) {
  const std::size_t bytes = kernels::bf16_panel_bytes(terms, depth);
  const auto panels = Buffer::allocate(bytes * static_cast<std::size_t>((across + 31) / 32));
  std::memset(panels->data(), 0xA5, panels->bytes());
  kernels::pack_terms(side, terms, source, across, depth, panels->data());
  for (std::int64_t i0 = 0; i0 < across; i0 += 32) {
    const std::byte* panel = panels->data() + static_cast<std::size_t>(i0 / 32) * bytes;
    const kernels::PanelRange& range = kernels::panel_range(panel);
    std::uint32_t panel_largest = 0, panel_smallest = ~0u;
    const std::int64_t packed_rows = across - i0 > 16 ? 32 : 16;
    for (std::int64_t i = 0; i < packed_rows; ++i) {
      std::uint32_t largest = 0, smallest = ~0u;
      for (std::int64_t p = 0; p < (depth + 31) / 32 * 32; ++p) {
        const float x = i0 + i < across && p < depth ? values(i0 + i, p) : 0.0f;
        const auto expected = testing::bf16_terms(x, terms);
        for (int t = 0; t < terms; ++t) {
          BOOST_REQUIRE_EQUAL(entry(panel, side, terms, t, i, p),
                              expected[static_cast<std::size_t>(t)]);
        }
        largest = std::max(largest, magnitude(x));
        if (x != 0) smallest = std::min(smallest, magnitude(x));
      }
      BOOST_REQUIRE_EQUAL(range.largest[i], largest);
      BOOST_REQUIRE_EQUAL(range.smallest[i], smallest);
      panel_largest = std::max(panel_largest, largest);
      panel_smallest = std::min(panel_smallest, smallest);
    }
    BOOST_REQUIRE_EQUAL(range.panel_largest, panel_largest);
    BOOST_REQUIRE_EQUAL(range.panel_smallest, panel_smallest);
  }
}

// Returns values that span many binary orders of magnitude, including zeros and ties between two
// bfloat16 values.
Tensor varied(std::int64_t count) {
  Tensor t = sample_uniform({count}, 31);
  float* x = t.mutable_data<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = std::ldexp(x[i], static_cast<int>(i * 7 % 61) - 30);
    if (i % 11 == 0) x[i] = 0;
    // Ties that round to even in both directions.
    if (i % 13 == 0) x[i] = i % 2 == 0 ? 0x1.01p3f : -0x1.03p-2f;
  }
  return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bf16_split_pack)

BOOST_AUTO_TEST_CASE(panels_contain_the_terms_for_every_layout_and_size) {
  const Tensor data = varied(70 * 100 * 3);
  const float* x = data.data<float>();
  testing::for_each_simd_target([&](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      for (const OperandSide side : {OperandSide::a, OperandSide::b}) {
        for (int terms = 1; terms <= 3; ++terms) {
          for (const std::int64_t across : {1, 15, 16, 17, 32, 33, 70}) {
            for (const std::int64_t depth : {1, 2, 31, 32, 33, 64, 100}) {
              // Strides with K contiguous, with K strided, and with neither axis contiguous.
              for (const auto& [along, over] : {std::pair<std::int64_t, std::int64_t>{1, depth + 1},
                                                {across + 2, 1},
                                                {2, 2 * depth + 1}}) {
                const MatrixSource seen{x, DType::f32, over, along};
                const MatrixSource source = side == OperandSide::a ? seen : seen.transposed();
                check_panels(side, terms, source, across, depth,
                             [&, a = along, o = over](std::int64_t i, std::int64_t p) {
                               return x[i * o + p * a];
                             });
              }
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(half_precision_sources_are_converted) {
  const Tensor data = sample_uniform({40 * 70}, 32);
  testing::for_each_simd_target([&](const char* target) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const Tensor half = data.to(dtype);
      const Tensor back = half.to(DType::f32);
      for (const bool along : {false, true}) {
        BOOST_TEST_CONTEXT(dtype_name(dtype) << " on " << target) {
          const MatrixSource seen{half.raw(), dtype, along ? 70 : 1, along ? 1 : 40};
          const auto value = [&](std::int64_t i, std::int64_t p) {
            return back.data<float>()[along ? i * 70 + p : p * 40 + i];
          };
          check_panels(OperandSide::a, 3, seen, 40, 70, value);
          check_panels(OperandSide::b, 1, seen.transposed(), 40, 70, value);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(three_terms_represent_a_float_exactly) {
  const Tensor data = varied(5000);
  for (std::int64_t i = 0; i < data.numel(); ++i) {
    const float x = data.data<float>()[i];
    const auto t = testing::bf16_terms(x, 3);
    BOOST_REQUIRE_EQUAL(static_cast<double>(t[0]) + t[1] + t[2], x);
    BOOST_REQUIRE_LE(std::abs(t[1]), std::abs(t[0]) * 0x1p-8f);
    BOOST_REQUIRE_LE(std::abs(t[2]), std::abs(t[1]) * 0x1p-8f);
  }
}

BOOST_AUTO_TEST_CASE(carried_by_terms_accepts_only_representable_values) {
  const auto representable = [](float largest_a, float smallest_a, float largest_b,
                                float smallest_b, std::int64_t depth = 32) {
    return kernels::representable_by_terms(magnitude(largest_a), magnitude(smallest_a),
                                           magnitude(largest_b), magnitude(smallest_b), depth);
  };
  BOOST_TEST(representable(1, 1e-10f, 1, 1e-10f));
  BOOST_TEST(!representable(INFINITY, 1, 1, 1));
  BOOST_TEST(!representable(1, 1, NAN, 1));
  // This value rounds to a number beyond the largest bfloat16.
  BOOST_TEST(!representable(3e38f, 1, 1e-5f, 1e-5f));
  BOOST_TEST(representable(0x1p126f, 1, 0x1p-20f, 0x1p-20f));
  BOOST_TEST(!representable(1, 1e-40f, 1, 1));     // denormal
  BOOST_TEST(!representable(1, 0x1p-101f, 1, 1));  // its last term would be denormal
  BOOST_TEST(representable(1, 0x1p-100f, 1, 1));
  BOOST_TEST(!representable(1, 0x1p-60f, 1, 0x1p-60f));  // the product's terms would be denormal
  BOOST_TEST(!representable(0x1p60f, 1, 0x1p64f, 1));    // the sum may overflow
  BOOST_TEST(!representable(0x1p60f, 1, 0x1p60f, 1, 1 << 10));
  BOOST_TEST(representable(0x1p60f, 1, 0x1p54f, 1, 1 << 10));
  // A matrix of zeros is representable, but not if the other matrix contains an infinity.
  BOOST_TEST(kernels::representable_by_terms(0, ~0u, magnitude(1), magnitude(1), 32));
  BOOST_TEST(!kernels::representable_by_terms(0, ~0u, magnitude(INFINITY), magnitude(1), 32));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
