// Checks factorisations by their defining properties and against their scalar models: for matrices
// of all shapes, rank-deficient matrices, and matrices with tiny or huge elements.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/tests/ops/twin.h"

namespace weft::testing {
namespace {

Tensor product(const Tensor& a, const Tensor& b, bool transpose_a = false,
               bool transpose_b = false) {
  return evaluate_op(builtin_ops()->at("matmul"), {a, b},
                     {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}})[0];
}

std::vector<Tensor> apply(std::string_view op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes = {}) {
  return evaluate_op(builtin_ops()->at(op), inputs, attributes);
}

double largest(const Tensor& t) {
  double result = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double size = std::fabs(t.at(i));
    result = size <= result ? result : size;  // keeps a NaN
  }
  return result;
}

double distance(const Tensor& a, const Tensor& b) {
  double result = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double d = std::fabs(a.at(i) - b.at(i));
    result = d <= result ? result : d;
  }
  return result;
}

Tensor identity(const Sizes& sizes) {
  Tensor t = Tensor::zeros(DType::f64, sizes);
  const std::int64_t n = sizes.back();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (i / n % n == i % n) t.mutable_data<double>()[i] = 1;
  }
  return t;
}

Tensor scaled(const Tensor& t, double factor) {
  Tensor result = t.to(DType::f64).clone();
  for (std::int64_t i = 0; i < t.numel(); ++i) result.mutable_data<double>()[i] *= factor;
  return result;
}

// Returns a positive definite matrix x x^T + I.
Tensor definite(Choices& c, const Sizes& sizes, DType dtype) {
  const Tensor x = c.uniform(sizes, DType::f64);
  Tensor a = product(x, x, false, true);
  const Tensor one = identity(sizes);
  for (std::int64_t i = 0; i < a.numel(); ++i) a.mutable_data<double>()[i] += one.at(i);
  return a.to(dtype);
}

Sizes with_list(Choices& c, Sizes sizes) {
  for (std::int64_t axes = c.one_of({0, 0, 1, 2}); axes > 0; --axes)
    sizes.insert(sizes.begin(), c.within(1, 3));
  return sizes;
}

DType dtype_of(Choices& c) { return c.chance(0.5) ? DType::f32 : DType::f64; }
double unit(DType dtype) { return dtype == DType::f32 ? 0x1p-23 : 0x1p-52; }

// Returns a random m x n matrix of rank at most `rank`.
Tensor of_rank(Choices& c, std::int64_t m, std::int64_t n, std::int64_t rank) {
  return product(c.uniform({m, rank}, DType::f64), c.uniform({rank, n}, DType::f64));
}

void check_qr(const Tensor& x, double tolerance) {
  const auto f = apply("qr", {x});
  const Tensor &q = f[0], &r = f[1];
  Sizes square = r.sizes();
  BOOST_TEST(distance(product(q, q, true).to(DType::f64), identity(square)) <= tolerance);
  BOOST_TEST(distance(product(q, r), x) <= tolerance * largest(x));
  const std::int64_t n = square.back();
  for (std::int64_t i = 0; i < r.numel(); ++i) {
    if (i / n % n > i % n) BOOST_REQUIRE(r.at(i) == 0);
    if (i / n % n == i % n) BOOST_REQUIRE(r.at(i) >= 0);
  }
}

void check_svd(const Tensor& x, double tolerance) {
  const auto f = apply("svd", {x});
  const Tensor &u = f[0], &s = f[1], &vt = f[2];
  const std::int64_t k = s.size(s.rank() - 1);
  Sizes square = s.sizes();
  square.push_back(k);
  BOOST_TEST(distance(product(u, u, true).to(DType::f64), identity(square)) <= tolerance);
  BOOST_TEST(distance(product(vt, vt, false, true).to(DType::f64), identity(square)) <= tolerance);
  Tensor us = u.clone();
  const std::int64_t rows = u.size(u.rank() - 2);
  for (std::int64_t i = 0; i < u.numel(); ++i) {
    const double value = u.at(i) * s.at(i / (rows * k) * k + i % k);
    if (u.dtype() == DType::f32) us.mutable_data<float>()[i] = static_cast<float>(value);
    if (u.dtype() == DType::f64) us.mutable_data<double>()[i] = value;
  }
  // Products of denormals are rounded to multiples of the smallest denormal.
  BOOST_TEST(distance(product(us, vt), x) <=
             tolerance * largest(x) + 4 * std::numeric_limits<double>::denorm_min());
  for (std::int64_t i = 0; i < s.numel(); ++i) {
    BOOST_REQUIRE(s.at(i) >= 0);
    if (i % k > 0) BOOST_REQUIRE(s.at(i) <= s.at(i - 1));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(linalg)

BOOST_AUTO_TEST_CASE(cholesky_factors_match_the_model_and_reproduce_the_matrix) {
  for_random_cases(12, 1, [](Choices& c) {
    const std::int64_t n = c.one_of({0, 1, 2, 3, 5, 8, 17, 33, 40, 65});
    const DType dtype = dtype_of(c);
    const Tensor a = definite(c, with_list(c, {n, n}), dtype);
    check_twin("cholesky", {a}, {});
    const Tensor l = apply("cholesky", {a})[0];
    BOOST_TEST(distance(product(l, l, false, true), a) <=
               4 * static_cast<double>(n + 1) * unit(dtype) * largest(a));
  });
}

BOOST_AUTO_TEST_CASE(a_large_cholesky_factor_reproduces_the_matrix) {
  Choices c(1);
  const Tensor a = definite(c, {300, 300}, DType::f64);
  const auto f = apply("cholesky", {a});
  BOOST_TEST(f[1].at(0) == -1);
  BOOST_TEST(distance(product(f[0], f[0], false, true), a) <= 1e-12 * largest(a));
}

// Only the symmetric part of x affects the result.
BOOST_AUTO_TEST_CASE(cholesky_uses_the_symmetric_part) {
  const Tensor x = Tensor::of<float>({2, 2}, {4, 1, 3, 5}),
               y = Tensor::of<float>({2, 2}, {4, 2, 2, 5});
  BOOST_TEST(bitwise_equal(apply("cholesky", {x})[0], apply("cholesky", {y})[0]));
}

BOOST_AUTO_TEST_CASE(a_matrix_that_is_not_positive_definite_gives_zeros_and_the_failing_pivot) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = HUGE_VAL;
  for (const auto& [x, pivot] : std::vector<std::pair<Tensor, int>>{
           {Tensor::of<double>({2, 2}, {1, 2, 2, 1}), 1},
           {Tensor::of<double>({2, 2}, {0, 0, 0, 1}), 0},
           {Tensor::of<double>({2, 2}, {1, 1, 1, 1}), 1},
           {Tensor::of<double>({2, 2}, {1, nan, nan, 1}), 1},
           {Tensor::of<double>({2, 2}, {inf, 0, 0, 1}), 0},
           {Tensor::of<double>({3, 3}, {4, 0, 0, 0, 9, 0, 0, 0, -1}), 2}}) {
    const auto f = apply("cholesky", {x});
    BOOST_TEST(f[1].at(0) == pivot);
    BOOST_TEST(largest(f[0]) == 0);
  }
}

// Large matrices are factorised in blocks. Eigen stops at pivots that are not positive, but not at
// those that are infinite or NaN.
BOOST_AUTO_TEST_CASE(the_first_failing_pivot_of_a_large_matrix_is_reported) {
  for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    Tensor a = identity({200, 200});
    a.mutable_data<double>()[150 * 201] = bad;
    a.mutable_data<double>()[190 * 201] = -1;
    const auto f = apply("cholesky", {a});
    BOOST_TEST(f[1].at(0) == 150);
    BOOST_TEST(largest(f[0]) == 0);
  }
}

BOOST_AUTO_TEST_CASE(triangular_solves_match_the_model) {
  for_random_cases(24, 1, [](Choices& c) {
    const std::int64_t n = c.one_of({0, 1, 2, 3, 7, 16, 33, 50}),
                       m = c.one_of({0, 1, 2, 5, 64, 67});
    const DType dtype = dtype_of(c);
    const Sizes t = with_list(c, {n, n});
    Sizes b = t;
    b.back() = m;
    check_twin(
        "triangular_solve", {c.uniform(t, dtype), c.uniform(b, dtype)},
        {{"upper", c.chance(0.5)}, {"transpose", c.chance(0.5)}, {"unit_diagonal", c.chance(0.3)}});
  });
}

BOOST_AUTO_TEST_CASE(a_zero_on_the_diagonal_is_reported_and_gives_zeros_as_solution) {
  const Tensor t = Tensor::of<float>({2, 2, 2}, {1, 0, 5, 2, 3, 7, 7, 0});
  const Tensor b = Tensor::of<float>({2, 2, 1}, {1, 7, 1, 1});
  auto f = apply("triangular_solve", {t, b});
  BOOST_CHECK((f[0].to_vector<float>() == std::vector<float>{1, 1, 0, 0}));
  BOOST_CHECK((f[1].to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, 1}));
  f = apply("triangular_solve", {t, b}, {{"unit_diagonal", true}});
  BOOST_CHECK((f[0].to_vector<float>() == std::vector<float>{1, 2, 1, -6}));
  BOOST_CHECK((f[1].to_vector<std::int64_t>() == std::vector<std::int64_t>{-1, -1}));
}

BOOST_AUTO_TEST_CASE(qr_gives_an_orthonormal_basis_and_a_triangular_factor) {
  for_random_cases(16, 1, [](Choices& c) {
    const std::int64_t n = c.one_of({0, 1, 2, 3, 5, 9, 20}), m = n + c.one_of({0, 0, 1, 3, 40});
    const DType dtype = dtype_of(c);
    const Tensor x = c.uniform(with_list(c, {m, n}), dtype);
    check_twin("qr", {x}, {});
    check_qr(x, 8 * static_cast<double>(m + 1) * unit(dtype));
  });
}

BOOST_AUTO_TEST_CASE(qr_of_dependent_columns_still_has_an_orthonormal_basis) {
  Choices c(1);
  for (const Tensor& x :
       {of_rank(c, 9, 6, 2), Tensor::zeros(DType::f64, {4, 3}), Tensor::full(DType::f64, {5, 5}, 1),
        scaled(c.uniform({7, 4}), 1e300), scaled(c.uniform({7, 4}), 1e-300)}) {
    check_qr(x, 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(singular_values_and_vectors_match_the_model) {
  for_random_cases(16, 1, [](Choices& c) {
    const std::int64_t m = c.one_of({1, 2, 3, 5, 9, 24}), n = c.one_of({1, 2, 3, 5, 9, 24});
    const DType dtype = dtype_of(c);
    const Tensor x = c.uniform(with_list(c, {m, n}), dtype);
    check_twin("svd", {x}, {});
    check_svd(x, 16 * static_cast<double>(m + n) * unit(dtype));
  });
}

BOOST_AUTO_TEST_CASE(rank_deficient_matrices_still_have_orthonormal_singular_vectors) {
  Choices c(2);
  for (const Tensor& x :
       {of_rank(c, 9, 6, 2), of_rank(c, 6, 9, 2), of_rank(c, 12, 12, 1),
        Tensor::zeros(DType::f64, {4, 3}), Tensor::zeros(DType::f64, {3, 5}),
        Tensor::full(DType::f64, {5, 5}, 1), identity({4, 4}), scaled(c.uniform({7, 4}), 1e300),
        scaled(c.uniform({4, 7}), 1e-300), c.uniform({80, 60}, DType::f64)}) {
    check_svd(x, 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(qr_of_tiny_columns_still_has_an_orthonormal_basis) {
  for (int exponent = -100; exponent >= -320; exponent -= 5) {
    const double tiny = std::pow(10.0, exponent);
    check_qr(Tensor::of<double>({3, 3}, {tiny, 1, 0, 2 * tiny, 0, tiny, 3 * tiny, 0, tiny}), 1e-14);
  }
}

// Squares of such small numbers lose most or all of their digits.
BOOST_AUTO_TEST_CASE(singular_vectors_are_orthonormal_even_for_tiny_numbers) {
  for (int exponent = -40; exponent >= -320; exponent -= 5) {
    const double tiny = std::pow(10.0, exponent);
    check_svd(Tensor::of<double>({3, 3}, {1, 0, 0, 0, tiny, tiny, 0, 0, tiny}), 1e-13);
    check_svd(Tensor::of<double>({3, 2}, {tiny, 1, 2 * tiny, tiny, 0, 3 * tiny}), 1e-13);
    check_svd(Tensor::of<double>({2, 3}, {tiny, tiny, 0, tiny, 0, tiny}), 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(denormal_matrices_have_cholesky_factors) {
  const double least = std::numeric_limits<double>::denorm_min();
  const auto f = apply("cholesky", {Tensor::of<double>({2, 2}, {least, 0, 0, 3 * least})});
  BOOST_TEST(f[1].at(0) == -1);
  BOOST_TEST(f[0].at(0) == std::sqrt(least));
  BOOST_TEST(f[0].at(3) == std::sqrt(3 * least));
}

BOOST_AUTO_TEST_CASE(the_largest_element_of_each_left_vector_is_positive) {
  Choices c(3);
  const Tensor u = apply("svd", {c.uniform({20, 8})})[0];
  for (std::int64_t column = 0; column < 8; ++column) {
    double most = 0;
    for (std::int64_t i = 0; i < 20; ++i) {
      if (std::fabs(u.at(i * 8 + column)) > std::fabs(most)) most = u.at(i * 8 + column);
    }
    BOOST_TEST(most > 0);
  }
}

// The Hilbert matrix of size 6, which has known singular values and a condition number of 1.5e7.
BOOST_AUTO_TEST_CASE(small_singular_values_have_a_small_relative_error) {
  Tensor x = Tensor::empty(DType::f64, {6, 6});
  for (std::int64_t i = 0; i < 36; ++i) {
    x.mutable_data<double>()[i] = 1.0 / static_cast<double>(i / 6 + i % 6 + 1);
  }
  const Tensor s = apply("svd", {x})[1];
  const std::vector<double> known = {1.618899858924339,    0.2423608705752095,
                                     0.01632152131987581,  0.0006157483541826634,
                                     1.257075712262519e-5, 1.082799484565550e-7};
  for (std::int64_t i = 0; i < 6; ++i) {
    BOOST_TEST(s.at(i) == known[static_cast<std::size_t>(i)],
               boost::test_tools::tolerance(1e-15 / known[static_cast<std::size_t>(i)] + 1e-13));
  }
}

BOOST_AUTO_TEST_CASE(factorisations_of_nans_and_infinities_terminate_with_nan) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    const Tensor x = Tensor::of<double>({2, 2}, {1, bad, 2, 3});
    const auto qr = apply("qr", {x}), svd = apply("svd", {x});
    for (const Tensor& t : {qr[0], svd[0], svd[1], svd[2]}) {
      for (std::int64_t i = 0; i < t.numel(); ++i) BOOST_TEST(std::isnan(t.at(i)));
    }
    for (const int i : {0, 1, 3}) BOOST_TEST(std::isnan(qr[1].at(i)));
    BOOST_TEST(qr[1].at(2) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
