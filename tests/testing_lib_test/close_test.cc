// Tests of tensor comparisons and their messages.
#include "weft/testing/close.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>

#include "weft/testing/printing.h"
#include "weft/testing/random_tensors.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(close_tensors)

BOOST_AUTO_TEST_CASE(equal_tensors_pass_and_messages_show_the_first_difference) {
  const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5.5F, 6.000001F});
  BOOST_TEST(expect_close(a, a));
  BOOST_TEST(expect_same_bits(a, a));
  const Outcome found = expect_close(a, b);
  BOOST_TEST(!found);
  BOOST_TEST(found.message() ==
             "1 of 6 elements of f32[2, 3] are not close (allowed: 1e-05 + 1.3e-06 |expected|)\n"
             "  first:    [1, 1] is 5, expected 5.5 (error 0.5, relative 0.0909, 1.05e+06 ulps)\n"
             "  errors:   4 x 0, 1 x 1e-7, 1 x 1e-1");
  BOOST_TEST(expect_close(a, b, {.absolute = 0.5}));
  BOOST_TEST(expect_same_bits(a, b).message() ==
             "2 of 6 elements of f32[2, 3] have different bits\n"
             "  first: [1, 1] is 5 (0x40a00000), expected 5.5 (0x40b00000)");
}

BOOST_AUTO_TEST_CASE(tolerances_in_units_in_the_last_place) {
  const Tensor one = Tensor::of<double>({2}, {1, -1});
  const Tensor next = Tensor::of<double>({2}, {1 + 0x1p-52, -1 - 0x1p-51});
  BOOST_TEST(!expect_close(next, one, {.ulps = 1}));
  BOOST_TEST(expect_close(next, one, {.ulps = 2}));
  const Tensor zero = Tensor::of<float>({1}, {0});
  BOOST_TEST(expect_close(Tensor::of<float>({1}, {std::numeric_limits<float>::denorm_min()}), zero,
                          {.ulps = 1}));
}

BOOST_AUTO_TEST_CASE(infinities_and_nans_are_compared) {
  const Tensor nonfinite = Tensor::of<float>({3}, {NAN, INFINITY, -INFINITY});
  BOOST_TEST(!expect_close(nonfinite, nonfinite));
  BOOST_TEST(expect_close(nonfinite, nonfinite, {.nan_is_close_to_nan = true}));
  BOOST_TEST(expect_same_bits(nonfinite, nonfinite));
  const Outcome found = expect_close(Tensor::of<float>({3}, {NAN, 1, INFINITY}), nonfinite,
                                     {.absolute = 1e30, .nan_is_close_to_nan = true});
  BOOST_TEST(found.message().find("2 of 3") == 0, found);
  BOOST_TEST(found.message().find("[1] is 1, expected inf") != std::string::npos, found);
  BOOST_TEST(found.message().find("2 x not finite") != std::string::npos, found);
}

BOOST_AUTO_TEST_CASE(different_sizes_dtypes_and_undefined_tensors_are_reported) {
  const Tensor a = Tensor::zeros(DType::f32, {2, 3}), b = Tensor::zeros(DType::f32, {3, 2});
  BOOST_TEST(expect_close(a, b).message() == "the tensor is f32[2, 3], expected f32[3, 2]");
  BOOST_TEST(expect_same_bits(a, Tensor::zeros(DType::i32, {2, 3})).message() ==
             "the tensor is f32[2, 3], expected i32[2, 3]");
  BOOST_TEST(expect_close(a, Tensor()).message() == "the tensor is f32[2, 3], expected undefined");
  BOOST_TEST(expect_close(a, Tensor::zeros(DType::f64, {2, 3})));
  BOOST_TEST(expect_same_bits(Tensor::zeros(DType::f32, {0}), Tensor::zeros(DType::f32, {0})));
}

BOOST_AUTO_TEST_CASE(random_tensors_are_a_function_of_the_seed) {
  BOOST_TEST(expect_same_bits(normal_tensor({3, 4}, 1), normal_tensor({3, 4}, 1)));
  BOOST_TEST(!expect_same_bits(normal_tensor({3, 4}, 1), normal_tensor({3, 4}, 2)));
  const Tensor n = normal_tensor({100, 100}, 3, DType::f64, 5, 2);
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n.numel(); ++i) sum += n.at(i), squares += n.at(i) * n.at(i);
  const double mean = sum / 1e4;
  BOOST_TEST(std::abs(mean - 5) < 0.1);
  BOOST_TEST(std::abs(std::sqrt(squares / 1e4 - mean * mean) - 2) < 0.1);
  const Tensor u = uniform_tensor({1000}, 4, -1, 3);
  for (std::int64_t i = 0; i < u.numel(); ++i) BOOST_REQUIRE(u.at(i) >= -1 && u.at(i) < 3);
  const Tensor ids = integer_tensor({1000}, 5, -2, 2, DType::i32);
  bool seen[4] = {};
  for (std::int64_t i = 0; i < ids.numel(); ++i) seen[static_cast<int>(ids.at(i)) + 2] = true;
  BOOST_TEST((seen[0] && seen[1] && seen[2] && seen[3]));
}

BOOST_AUTO_TEST_CASE(tensors_dtypes_and_shapes_are_printed) {
  std::ostringstream out;
  out << Tensor::of<int>({2}, {1, 2}) << ' ' << DType::bf16 << ' ' << Shape{2, 3} << ' '
      << Tensor::zeros(DType::f32, {20});
  BOOST_TEST(out.str() ==
             "i32[2] {1, 2} bf16 [2, 3] f32[20] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
             "...}");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
