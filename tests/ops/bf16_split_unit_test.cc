// Compares the matrix instructions and their emulations with the arithmetic specified in Intel's
// manual.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "weft/core/random.h"
#include "weft/ops/kernels/cpu_features.h"
#include "weft/ops/kernels/gemm/bf16_split/panel.h"
#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/bf16_split.h"

namespace weft {
namespace {

using kernels::Bf16Unit;

// Tiles of two panels with finite bfloat16 values, whose exponents are in [-orders, orders].
struct Operands {
  std::shared_ptr<Buffer> a, b;
  int terms;
  std::int64_t slices;
  bool single_term_b;

  Operands(int term_count, std::int64_t slice_count, int orders, std::uint64_t seed,
           bool single_term = false)
      : terms(term_count), slices(slice_count), single_term_b(single_term) {
    const auto bytes = static_cast<std::size_t>(slices * 2048);
    a = Buffer::allocate(bytes * static_cast<std::size_t>(terms));
    b = Buffer::allocate(bytes * static_cast<std::size_t>(single_term ? 1 : terms));
    const RandomStream random{seed};
    for (std::size_t i = 0; i < a->bytes() / 2; ++i) put(*a, i, random.word(2 * i), orders);
    for (std::size_t i = 0; i < b->bytes() / 2; ++i) put(*b, i, random.word(2 * i + 1), orders);
  }
  static void put(Buffer& to, std::size_t i, std::uint32_t word, int orders) {
    const int exponent = 127 - orders + static_cast<int>((word >> 8) % (2u * orders + 1));
    const auto bits = static_cast<std::uint16_t>(
        (word & 0x8000u) | static_cast<std::uint32_t>(exponent) << 7 | (word & 0x7Fu));
    std::memcpy(to.data() + 2 * i, &bits, sizeof(bits));
  }
  const std::uint32_t* tile(const Buffer& of, std::int64_t slice, int term, int half) const {
    const int count = single_term_b && &of == b.get() ? 1 : terms;
    return reinterpret_cast<const std::uint32_t*>(of.data()) +
           ((slice * count + term) * 2 + half) * 256;
  }
};

std::vector<float> product(Bf16Unit unit, const Operands& o, int row_tiles = 2,
                           int column_tiles = 2, bool add = false) {
  alignas(64) float c[32 * 32];
  std::fill_n(c, 32 * 32, 99.0f);
  const kernels::Bf16UnitKernels& kernels = kernels::bf16_unit_kernels(unit);
  if (kernels.begin != nullptr) kernels.begin();
  (o.single_term_b ? kernels.single_term_b : kernels.panel_gemm)[o.terms - 1](
      o.a->data(), o.b->data(), o.slices, row_tiles, column_tiles, c, 32, add, o.b->data());
  if (kernels.end != nullptr) kernels.end();
  return std::vector<float>(c, c + 32 * 32);
}

// Returns tile (i, j) of C after all instructions of the kernel, computed with the reference
// instruction.
std::vector<float> expected_tile(const Operands& o, int i, int j) {
  constexpr int kPaths[3][6][2] = {
      {{0, 0}}, {{1, 0}, {0, 0}, {0, 1}}, {{2, 0}, {1, 0}, {0, 0}, {0, 2}, {0, 1}, {1, 1}}};
  const int products = o.single_term_b ? o.terms : o.terms * (o.terms + 1) / 2;
  std::vector<float> c(256, 0.0f);
  for (std::int64_t s = 0; s < o.slices; ++s) {
    for (int p = 0; p < products; ++p) {
      const int* path = kPaths[o.terms - 1][p];
      const int of_a = o.single_term_b ? o.terms - 1 - p : path[0];
      testing::reference_tdpbf16ps(c.data(), o.tile(*o.a, s, of_a, i),
                                   o.tile(*o.b, s, o.single_term_b ? 0 : path[1], j));
    }
  }
  return c;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> tile_of(const std::vector<float>& c, int i, int j) {
  std::vector<float> tile;
  for (int r = 0; r < 16; ++r) {
    const float* row = c.data() + (i * 16 + r) * 32 + j * 16;
    tile.insert(tile.end(), row, row + 16);
  }
  return tile;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bf16_split_unit)

BOOST_AUTO_TEST_CASE(the_emulated_tile_kernel_matches_the_manual_bit_for_bit) {
  testing::for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      for (int terms = 1; terms <= 3; ++terms) {
        for (const auto& [slices, single_term] :
             {std::pair{0, false}, {1, false}, {3, false}, {0, true}, {3, true}}) {
          const Operands o(terms, slices, 12, static_cast<std::uint64_t>(terms), single_term);
          for (int rows = 1; rows <= 2; ++rows) {
            for (int columns = 1; columns <= 2; ++columns) {
              const auto c = product(Bf16Unit::emulated_amx, o, rows, columns);
              for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) {
                  const bool computed = i < rows && j < columns;
                  const auto expected =
                      computed ? expected_tile(o, i, j) : std::vector<float>(256, 99.0f);
                  BOOST_TEST(same(tile_of(c, i, j), expected));
                }
              }
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(the_emulated_dot_kernel_matches_the_manual_bit_for_bit) {
  testing::for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      const Operands o(1, 3, 12, 9);
      const auto c = product(Bf16Unit::emulated_dot, o);
      for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 32; ++j) {
          float sum = 0;
          for (std::int64_t s = 0; s < o.slices; ++s) {
            for (int q = 0; q < 16; ++q) {
              sum = testing::reference_vdpbf16ps(sum, o.tile(*o.a, s, 0, i / 16)[i % 16 * 16 + q],
                                                 o.tile(*o.b, s, 0, j / 16)[q * 16 + j % 16]);
            }
          }
          BOOST_REQUIRE_EQUAL(c[static_cast<std::size_t>(i * 32 + j)], sum);
        }
      }
    }
  });
}

// Products below 2^-126, denormal operands and denormal sums, which the instructions flush to zero.
BOOST_AUTO_TEST_CASE(emulations_flush_denormals_even_if_multiply_adds_are_fused) {
  const auto targets = testing::simd_targets();
  const std::string best = targets.empty() ? "" : targets.front();
  if (best != "AVX3" && best != "AVX2") return;
  const Operands o(1, 2, 127, 11);
  BOOST_TEST(same(tile_of(product(Bf16Unit::emulated_amx, o), 1, 0), expected_tile(o, 1, 0)));
}

BOOST_AUTO_TEST_CASE(products_are_added_to_c) {
  for (const Bf16Unit unit :
       {Bf16Unit::emulated_amx, Bf16Unit::amx, Bf16Unit::emulated_dot, Bf16Unit::dot}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    const Operands o(1, 2, 4, 5);
    const auto sums = product(unit, o), added = product(unit, o, 2, 2, true);
    for (std::size_t i = 0; i < sums.size(); ++i) BOOST_REQUIRE_EQUAL(added[i], 99.0f + sums[i]);
  }
}

BOOST_AUTO_TEST_CASE(vdpbf16ps_matches_its_emulation) {
  if (!kernels::bf16_unit_available(Bf16Unit::dot)) {
    BOOST_TEST_MESSAGE("AVX512_BF16 is not available");
    return;
  }
  for (const int orders : {4, 30, 127}) {
    const Operands o(1, 4, orders, static_cast<std::uint64_t>(orders));
    BOOST_TEST(same(product(Bf16Unit::dot, o), product(Bf16Unit::emulated_dot, o)),
               "exponents over " << 2 * orders << " orders");
  }
}

// The architecture does not guarantee the manual's summation order. The test reports whether the
// bits agree, but only requires the error bound that holds for any order.
BOOST_AUTO_TEST_CASE(tdpbf16ps_matches_its_emulation) {
  if (!kernels::bf16_unit_available(Bf16Unit::amx)) {
    BOOST_TEST_MESSAGE("AMX is not available");
    return;
  }
  for (const auto& [terms, single_term] :
       {std::pair{1, false}, {2, false}, {3, false}, {2, true}, {3, true}}) {
    const Operands o(terms, 4, 4, static_cast<std::uint64_t>(terms), single_term);
    for (int rows = 1; rows <= 2; ++rows) {
      for (int columns = 1; columns <= 2; ++columns) {
        const auto actual = product(Bf16Unit::amx, o, rows, columns);
        const auto expected = product(Bf16Unit::emulated_amx, o, rows, columns);
        BOOST_WARN(same(actual, expected));
        double largest = 0;
        for (const float x : expected) largest = std::max(largest, std::abs(double{x}));
        for (std::size_t i = 0; i < actual.size(); ++i) {
          BOOST_REQUIRE_SMALL(double{actual[i]} - expected[i], 1e-5 * largest);
        }
      }
    }
  }
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(detected_cpu_features_are_those_of_the_compiler) {
  const kernels::CpuFeatures& cpu = kernels::cpu_features();
  const auto is_set = [](int mask) { return mask != 0; };
  BOOST_TEST(cpu.amd == is_set(__builtin_cpu_is("amd")));
  BOOST_TEST(cpu.avx2 ==
             (is_set(__builtin_cpu_supports("avx2")) && is_set(__builtin_cpu_supports("fma"))));
  const bool avx512 = is_set(__builtin_cpu_supports("avx512f")) &&
                      is_set(__builtin_cpu_supports("avx512bw")) &&
                      is_set(__builtin_cpu_supports("avx512vl"));
  BOOST_TEST(cpu.avx512 == avx512);
  BOOST_TEST(cpu.avx512_vnni == (avx512 && is_set(__builtin_cpu_supports("avx512vnni"))));
  BOOST_TEST(cpu.avx512_bf16 == (avx512 && is_set(__builtin_cpu_supports("avx512bf16"))));
  BOOST_TEST((!cpu.avx_vnni || cpu.avx2));
  BOOST_TEST((!(cpu.amx_bf16 || cpu.amx_int8) || cpu.avx512));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
