#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/norm.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

void check_axis(const Tensor& x, int axis, bool log, double tolerance) {
  const Tensor y = evaluate_op(builtin_ops()->at(log ? "log_softmax" : "softmax"), {x},
                               {{"axis", std::int64_t{axis}}})[0];
  const Sizes strides = row_major_strides(x.sizes());
  const std::int64_t n = x.size(axis), stride = strides[static_cast<std::size_t>(axis)];
  for (std::int64_t first = 0; first < x.numel(); ++first) {
    if (first / stride % n != 0) continue;
    std::vector<double> slice;
    for (std::int64_t i = 0; i < n; ++i) slice.push_back(x.at(first + i * stride));
    const std::vector<double> expected = testing::reference_softmax(slice, log);
    for (std::int64_t i = 0; i < n; ++i) {
      BOOST_REQUIRE_SMALL(y.at(first + i * stride) - expected[static_cast<std::size_t>(i)],
                          tolerance);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(softmax_op)

BOOST_AUTO_TEST_CASE(matches_the_reference_for_all_simd_targets_axes_and_sizes) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 67, 131}) {
      for (const bool log : {false, true}) {
        const Tensor x = sample_uniform({3, n, 5}, 11, -8, 8);
        const Tensor xt = sample_uniform({3, 2, n}, 12, -8, 8);
        for (const int axis : {0, 1, 2}) {
          check_axis(x, axis, log, 4e-6);
          check_axis(xt, axis, log, 4e-6);
          check_axis(x.to(DType::f64), axis, log, 1e-13);
        }
      }
    }
    check_axis(sample_uniform({2, 5000}, 5, -3, 3), 1, false, 1e-7);
    check_axis(sample_uniform({2, 3, 131}, 5, -3, 3), 1, true, 4e-6);
  });
}

BOOST_AUTO_TEST_CASE(large_logits_masked_logits_and_nans_are_handled) {
  const OpRecord& op = builtin_ops()->at("softmax");
  const Attributes axis{{"axis", std::int64_t{1}}};
  const float inf = INFINITY;
  const Tensor y = evaluate_op(op, {Tensor::of<float>({1, 3}, {1e30f, 1e30f, -inf})}, axis)[0];
  BOOST_CHECK_EQUAL(y.at(0), 0.5);
  BOOST_CHECK_EQUAL(y.at(2), 0.0);
  const Tensor bad = evaluate_op(op, {Tensor::of<float>({2, 2}, {NAN, 1, -inf, -inf})}, axis)[0];
  for (int i = 0; i < 4; ++i) BOOST_CHECK(std::isnan(bad.at(i)));
}

BOOST_AUTO_TEST_CASE(the_bits_of_a_row_do_not_depend_on_its_position) {
  const OpRecord& op = builtin_ops()->at("softmax");
  const Tensor x = sample_uniform({300, 257}, 3);
  const Tensor all = evaluate_op(op, {x}, {{"axis", std::int64_t{1}}})[0];
  for (const std::int64_t row : {0, 1, 77, 299}) {
    const Tensor one = Tensor::of<float>(
        {1, 257}, x.span<float>().subspan(static_cast<std::size_t>(row * 257), 257));
    const Tensor y = evaluate_op(op, {one}, {{"axis", std::int64_t{1}}})[0];
    for (std::int64_t i = 0; i < 257; ++i) BOOST_REQUIRE_EQUAL(y.at(i), all.at(row * 257 + i));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
