#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/serial.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/matmul.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

using testing::max_difference;

Tensor matmul(const Tensor& a, const Tensor& b, bool ta, bool tb) {
  return evaluate_op(builtin_ops()->at("matmul"), {a, b},
                     {{"transpose_a", ta}, {"transpose_b", tb}})[0];
}

void check(Sizes a_sizes, Sizes b_sizes, bool ta, bool tb) {
  const Tensor a = sample_uniform(std::move(a_sizes), 1), b = sample_uniform(std::move(b_sizes), 2);
  const Tensor expected = testing::reference_matmul(a, b, ta, tb);
  const double k = static_cast<double>(a.size(ta ? -2 : -1));
  BOOST_REQUIRE_SMALL(max_difference(matmul(a, b, ta, tb), expected), 2e-7 * (k + 1));
  const Tensor a64 = a.to(DType::f64), b64 = b.to(DType::f64);
  BOOST_REQUIRE_SMALL(max_difference(matmul(a64, b64, ta, tb), expected), 1e-15 * (k + 1));
}

void check_transposes(std::int64_t m, std::int64_t n, std::int64_t k) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      check(ta ? Sizes{k, m} : Sizes{m, k}, tb ? Sizes{n, k} : Sizes{k, n}, ta, tb);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_op)

BOOST_AUTO_TEST_CASE(matches_the_reference_for_all_simd_targets_and_sizes) {
  testing::for_each_simd_target([](const char*) {
    const std::int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 17, 31, 33, 67};
    for (const std::int64_t m : sizes) {
      for (const std::int64_t n : sizes) check_transposes(m, n, (m * 7 + n * 3) % 37);
    }
    for (const std::int64_t k : {0, 1, 2, 15, 16, 17, 255, 256, 257, 600}) {
      check_transposes(3, 19, k);
      check_transposes(19, 4, k);
      check_transposes(14, 35, k);
      check_transposes(8, 70, k);
    }
  });
}

BOOST_AUTO_TEST_CASE(narrow_operands_match_widened_ones_bit_for_bit) {
  testing::for_each_simd_target([](const char*) {
    for (const DType narrow : {DType::bf16, DType::f16}) {
      for (const DType wide : {DType::f32, DType::f64}) {
        for (const std::int64_t m : {1, 2, 3, 8, 9, 30}) {
          for (const bool tb : {false, true}) {
            const std::int64_t n = 37, k = 45;
            const Tensor a = sample_uniform({m, k}, 1).to(narrow);
            const Tensor b = sample_uniform(tb ? Sizes{n, k} : Sizes{k, n}, 2).to(narrow);
            const Tensor expected = matmul(a.to(wide), b.to(wide), false, tb);
            const auto same = [&](const Tensor& c) {
              return c.dtype() == wide && std::memcmp(c.raw(), expected.raw(), c.bytes()) == 0;
            };
            BOOST_TEST(same(matmul(a, b.to(wide), false, tb)));
            BOOST_TEST(same(matmul(a.to(wide), b, false, tb)));
            if (wide == DType::f32) BOOST_TEST(same(matmul(a, b, false, tb)));
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(products_with_many_tiles_match_the_reference) {
  check_transposes(250, 530, 300);
  check_transposes(3, 1500, 700);
  check_transposes(1500, 2, 700);
  check_transposes(8, 1500, 300);
  check_transposes(1500, 5, 300);
}

BOOST_AUTO_TEST_CASE(batch_axes_broadcast) {
  check({2, 3, 4, 5}, {2, 3, 5, 6}, false, false);
  check({2, 1, 4, 5}, {3, 5, 6}, false, false);
  check({4, 5}, {2, 3, 5, 6}, false, false);
  check({2, 3, 5, 4}, {5, 6}, true, false);
  check({2, 3, 4, 5}, {6, 5}, false, true);
  check({2, 3, 1, 5}, {1, 3, 6, 5}, false, true);
  check({0, 3, 4, 5}, {1, 1, 5, 6}, false, false);
  check({3, 0, 5}, {5, 6}, false, false);
}

// The bits are equal if both products run on the same engine. On a CPU with a matrix unit, small
// products use a different engine, so the test disables matrix units.
BOOST_AUTO_TEST_CASE(an_element_has_the_same_bits_in_a_larger_product) {
  const kernels::ForcedBf16Unit forced(std::nullopt);
  const Tensor a = sample_uniform({300, 300}, 3), b = sample_uniform({300, 600}, 4);
  const Tensor whole = matmul(a, b, false, false);
  const Tensor top = Tensor::of<float>({19, 300}, std::span(a.data<float>(), 19 * 300));
  const Tensor part = matmul(top, b, false, false);
  BOOST_CHECK(std::memcmp(part.raw(), whole.raw(), part.bytes()) == 0);
}

// Few rows read a large B once, whether its rows or its columns are contiguous.
BOOST_AUTO_TEST_CASE(a_row_has_the_same_bits_in_a_product_with_up_to_16_rows) {
  const std::int64_t n = 1037, k = 259;  // at least 2^18 elements
  const Tensor a = sample_uniform({16, k}, 5);
  testing::for_each_simd_target([&](const char*) {
    for (const bool tb : {false, true}) {
      const Tensor b = sample_uniform(tb ? Sizes{n, k} : Sizes{k, n}, 6);
      for (const Tensor& stored : {b, b.to(DType::bf16)}) {
        const Tensor all = matmul(a, stored, false, tb);
        for (const std::int64_t m : {1, 2, 3, 5, 9, 11, 13}) {
          const Tensor few = Tensor::of<float>(
              {m, k}, std::span(a.data<float>() + (16 - m) * k, static_cast<std::size_t>(m * k)));
          const Tensor part = matmul(few, stored, false, tb);
          BOOST_TEST(std::memcmp(part.raw(), all.data<float>() + (16 - m) * n, part.bytes()) == 0);
        }
        const Tensor expected = testing::reference_matmul(a, stored.to(DType::f32), false, tb);
        BOOST_REQUIRE_SMALL(max_difference(all, expected), 2e-7 * (k + 1));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(products_propagate_infinities_and_nans) {
  const float inf = INFINITY;
  const Tensor y = matmul(Tensor::of<float>({2, 2}, {inf, 1, 0, NAN}),
                          Tensor::of<float>({2, 1}, {2, 3}), false, false);
  BOOST_CHECK_EQUAL(y.at(0), inf);
  BOOST_CHECK(std::isnan(y.at(1)));
  // The zeros that pad a panel must not be multiplied by the adjacent infinities.
  const Tensor z = matmul(Tensor::full(DType::f32, {5, 3}, inf),
                          Tensor::full(DType::f32, {3, 5}, 1), false, false);
  for (int i = 0; i < 25; ++i) BOOST_CHECK_EQUAL(z.at(i), inf);
}

BOOST_AUTO_TEST_CASE(gemm_accumulates_into_outputs_with_any_strides) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t m : {2, 7, 19}) {
      const std::int64_t n = 11, k = 6, stride = 20;
      // Both operands consist of every second element of a larger tensor, and C is part of wider
      // rows.
      const Tensor a = sample_uniform({m, k, 2}, 5), b = sample_uniform({k, n, 2}, 6);
      Tensor c = sample_uniform({m, stride}, 7);
      const Tensor before = c.clone();
      kernels::GemmProblem<float> g;
      g.m = m, g.n = n, g.k = k;
      g.a = {a.data<float>(), 2 * k, 2};
      g.b = {b.data<float>(), 2 * n, 2};
      g.c = c.mutable_data<float>();
      g.c_stride = stride;
      g.accumulate = true;
      const auto scratch = Buffer::allocate(kernels::gemm_scratch_bytes(4, m, n, k));
      kernels::gemm(g, scratch->data());
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < stride; ++j) {
          double expected = before.at(i * stride + j);
          for (std::int64_t p = 0; p < k && j < n; ++p) {
            expected += a.at(2 * (i * k + p)) * b.at(2 * (p * n + j));
          }
          BOOST_REQUIRE_SMALL(c.at(i * stride + j) - expected, 4e-6);
        }
      }
    }
  });
}

// Contiguous rows of A are read without packing, columns are packed.
BOOST_AUTO_TEST_CASE(gemm_computes_the_same_bits_from_rows_and_columns_of_a) {
  const auto compare = [](auto zero, std::int64_t m, std::int64_t n, std::int64_t k, bool add) {
    using T = decltype(zero);
    const DType dtype = dtype_of<T>;
    const std::int64_t stride = n + 3;
    const Tensor a = sample_uniform({m, k}, 5).to(dtype), b = sample_uniform({k, n}, 6).to(dtype);
    std::vector<T> columns(static_cast<std::size_t>(m * k));
    for (std::int64_t i = 0; i < m * k; ++i)
      columns[static_cast<std::size_t>(i % k * m + i / k)] = a.data<T>()[i];
    const auto scratch = Buffer::allocate(kernels::gemm_scratch_bytes(sizeof(T), m, n, k));
    const auto product = [&](const kernels::MatrixView<T>& view) {
      Tensor c = sample_uniform({m, stride}, 7).to(dtype);
      kernels::gemm({.m = m,
                     .n = n,
                     .k = k,
                     .a = view,
                     .b = {b.data<T>(), n, 1},
                     .c = c.mutable_data<T>(),
                     .c_stride = stride,
                     .accumulate = add},
                    scratch->data());
      return c;
    };
    const Tensor rows = product({a.data<T>(), k, 1}), packed = product({columns.data(), 1, m});
    BOOST_REQUIRE_MESSAGE(std::memcmp(rows.raw(), packed.raw(), rows.bytes()) == 0,
                          m << " x " << n << " x " << k << " with " << sizeof(T) << " bytes");
    for (const std::int64_t i : {std::int64_t{0}, m / 2, m - 1}) {
      for (const std::int64_t j : {std::int64_t{0}, n - 1}) {
        double expected = add ? sample_uniform({m, stride}, 7).at(i * stride + j) : 0;
        for (std::int64_t p = 0; p < k; ++p) expected += a.at(i * k + p) * b.at(p * n + j);
        BOOST_REQUIRE_SMALL(rows.at(i * stride + j) - expected, 1e-4);
      }
    }
  };
  testing::for_each_simd_target([&](const char*) {
    for (const std::int64_t m : {9, 12, 25, 64, 205}) {
      for (const std::int64_t n : {9, 32, 49, 260}) {
        for (const std::int64_t k : {1, 5, 64, 400, 1024}) {
          if (m * n * k > 5000000) continue;
          compare(0.0F, m, n, k, m == 25);
          compare(0.0, m, n, k, m == 12);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
