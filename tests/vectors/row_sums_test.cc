// Row sums and their kernels on every SIMD target.
#include "weft/models/vectors/row_sums.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "weft/models/data/rng.h"
#include "weft/ops/kernels/linalg/row_products.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {
namespace {

std::vector<const float*> rows_of(const Tensor& t) {
  std::vector<const float*> rows;
  for (std::int64_t r = 0; r < t.size(0); ++r) rows.push_back(t.data<float>() + r * t.size(1));
  return rows;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(row_sums)

BOOST_AUTO_TEST_CASE(kernels_match_plain_loops) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      for (const std::int64_t n : {16, 48, 112, 304}) {
        for (const std::int64_t m : {1, 2, 5}) {
          for (const std::int64_t k : {1, 2, 3, 6, 7, 9}) {
            const Tensor a = sample_uniform({m, n}, 1), b = sample_uniform({k, n}, 2);
            const Tensor factors = sample_uniform({m, k}, 3);
            const auto left = rows_of(a), right = rows_of(b);
            std::vector<float> products(static_cast<std::size_t>(m * k));
            kernels::row_products(left.data(), m, right.data(), k, n, products.data());
            Tensor sums = sample_uniform({m, n}, 4), before = sums.clone();
            std::vector<float*> to;
            for (std::int64_t i = 0; i < m; ++i) to.push_back(sums.mutable_data<float>() + i * n);
            kernels::add_row_sums(to.data(), m, factors.data<float>(), k, 1, right.data(), k, n);
            for (std::int64_t i = 0; i < m; ++i) {
              for (std::int64_t j = 0; j < k; ++j) {
                double product = 0;
                for (std::int64_t x = 0; x < n; ++x) product += a.at(i * n + x) * b.at(j * n + x);
                BOOST_TEST(std::fabs(products[static_cast<std::size_t>(i * k + j)] - product) <
                           1e-6 * static_cast<double>(n));
              }
              for (std::int64_t x = 0; x < n; ++x) {
                double sum = before.at(i * n + x);
                for (std::int64_t j = 0; j < k; ++j) sum += factors.at(i * k + j) * b.at(j * n + x);
                BOOST_TEST(std::fabs(sums.at(i * n + x) - sum) < 1e-5);
              }
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(logistic_steps_equal_the_derivatives_of_the_likelihood) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      std::vector<float> x = {0, 1, -2, 30, -30, 200, -200, 5, -1, 0.5, 100, -100};
      const std::vector<float> before = x;
      kernels::logistic_steps(x.data(), 3, 4, 2, 0.1f);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double label = i % 4 < 2 ? 1 : 0;
        const double wanted = 0.1 * (label - 1 / (1 + std::exp(-static_cast<double>(before[i]))));
        BOOST_TEST(std::fabs(x[i] - wanted) < 1e-7);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(adagrad_divides_by_the_previous_sums_of_squares) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      Tensor x = sample_uniform({32}, 1), squares = sample_uniform({32}, 2, 1, 3);
      const Tensor g = sample_uniform({32}, 3), x0 = x.clone(), s0 = squares.clone();
      kernels::adagrad_row(x.mutable_data<float>(), squares.mutable_data<float>(), g.data<float>(),
                           32, 0.5f);
      for (std::int64_t i = 0; i < 32; ++i) {
        BOOST_TEST(std::fabs(x.at(i) - (x0.at(i) - 0.5 * g.at(i) / std::sqrt(s0.at(i)))) < 1e-6);
        BOOST_TEST(std::fabs(squares.at(i) - (s0.at(i) + g.at(i) * g.at(i))) < 1e-6);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(sums_are_stored_for_touched_rows_only) {
  Rng rng(1);
  RowSums sums(5);
  // clear() removes a few rows one by one, and many rows by refilling the table. The same numbers
  // occur in several rounds, so nothing may remain from a previous round. All the numbers collide
  // in the table.
  for (int round = 0; round < 60; ++round) {
    std::map<std::int32_t, std::vector<float>> wanted;
    const int adds = round % 10 == 0 ? 2000 : 20 * (round % 10);
    for (int i = 0; i < adds; ++i) {
      const auto number = static_cast<std::int32_t>(rng.below(3000) * 65'536);
      std::vector<float> values(16, 0.0f);
      for (int k = 0; k < 5; ++k)
        values[static_cast<std::size_t>(k)] = static_cast<float>(rng.below(100));
      sums.add(number, values.data());
      auto& all = wanted.try_emplace(number, 16, 0.0f).first->second;
      for (std::size_t k = 0; k < 16; ++k) all[k] += values[k];
    }
    std::size_t found = 0;
    for (std::int32_t part = 0; part < RowSums::kParts; ++part) {
      sums.for_part(part, [&](std::int32_t number, const float* sum) {
        ++found;
        BOOST_REQUIRE_EQUAL(number % RowSums::kParts, part);
        BOOST_REQUIRE(std::equal(sum, sum + 16, wanted.at(number).begin()));
      });
    }
    BOOST_TEST(found == wanted.size());
    sums.clear();
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
