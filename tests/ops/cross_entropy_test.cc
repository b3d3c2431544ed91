#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/norm.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

void check(const Tensor& x, int axis, std::int64_t ignore, double e, double tolerance) {
  Sizes positions;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) positions.push_back(x.size(i));
  }
  const std::int64_t n = x.size(axis);
  const std::int64_t stride = row_major_strides(x.sizes())[static_cast<std::size_t>(axis)];
  const Tensor targets = sample_indices(positions, 4, n);
  const Tensor g = sample_uniform(positions, 5).to(x.dtype());
  const Attributes attributes{
      {"axis", std::int64_t{axis}}, {"ignore_index", ignore}, {"label_smoothing", e}};
  const auto out = evaluate_op(builtin_ops()->at("cross_entropy"), {x, targets}, attributes);
  const Tensor dx =
      evaluate_op(builtin_ops()->at("cross_entropy_grad"), {g, x, targets, out[1]}, attributes)[0];
  for (std::int64_t p = 0; p < targets.numel(); ++p) {
    const std::int64_t first = p / stride * n * stride + p % stride;
    const auto t = static_cast<std::int64_t>(targets.at(p));
    std::vector<double> slice;
    for (std::int64_t i = 0; i < n; ++i) slice.push_back(x.at(first + i * stride));
    const auto log_p = testing::reference_softmax(slice, true);
    double loss = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double weight = (i == t ? 1 - e : 0) + e / static_cast<double>(n);
      loss -= t == ignore ? 0 : weight * log_p[static_cast<std::size_t>(i)];
      const double d =
          t == ignore ? 0 : g.at(p) * (std::exp(log_p[static_cast<std::size_t>(i)]) - weight);
      BOOST_REQUIRE_SMALL(dx.at(first + i * stride) - d, tolerance);
    }
    BOOST_REQUIRE_SMALL(out[0].at(p) - loss, tolerance);
    BOOST_REQUIRE_SMALL(out[1].at(p) - (slice[0] - log_p[0]), tolerance);
  }
}

void check_soft(const Tensor& x, int axis, double e, double tolerance) {
  Sizes positions = x.sizes();
  positions.erase(positions.begin() + axis);
  const std::int64_t n = x.size(axis);
  const std::int64_t stride = row_major_strides(x.sizes())[static_cast<std::size_t>(axis)];
  // The targets do not sum to 1, and some are 0.
  Tensor targets = sample_uniform(x.sizes(), 4, -0.5, 1);
  for (std::int64_t i = 0; i < targets.numel(); i += 5) targets.mutable_data<float>()[i] = 0;
  targets = targets.to(x.dtype());
  const Tensor g = sample_uniform(positions, 5).to(x.dtype());
  const Attributes attributes{{"axis", std::int64_t{axis}}, {"label_smoothing", e}};
  const auto out = evaluate_op(builtin_ops()->at("soft_cross_entropy"), {x, targets}, attributes);
  const Tensor dx = evaluate_op(builtin_ops()->at("soft_cross_entropy_grad"),
                                {g, x, targets, out[1]}, attributes)[0];
  for (std::int64_t p = 0; p < g.numel(); ++p) {
    const std::int64_t first = p / stride * n * stride + p % stride;
    std::vector<double> slice, weights;
    double total = 0, size = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      slice.push_back(x.at(first + i * stride));
      weights.push_back((1 - e) * targets.at(first + i * stride) + e / static_cast<double>(n));
      total += weights.back();
      size += std::abs(weights.back());
    }
    const auto log_p = testing::reference_softmax(slice, true);
    double loss = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      loss -= weights[i] * log_p[i];
      const double d = g.at(p) * (std::exp(log_p[i]) * total - weights[i]);
      BOOST_REQUIRE_SMALL(dx.at(first + static_cast<std::int64_t>(i) * stride) - d,
                          tolerance * size);
    }
    BOOST_REQUIRE_SMALL(out[0].at(p) - loss, tolerance * size);
    BOOST_REQUIRE_SMALL(out[1].at(p) - (slice[0] - log_p[0]), tolerance);
  }
}

std::string data_error(const Tensor& targets) {
  try {
    evaluate_op(builtin_ops()->at("cross_entropy"), {Tensor::zeros(DType::f32, {2, 3, 5}), targets},
                {{"axis", std::int64_t{2}}});
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cross_entropy_op)

BOOST_AUTO_TEST_CASE(matches_the_reference_for_all_simd_targets_axes_and_sizes) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t n : {1, 3, 8, 17, 67}) {
      for (const double e : {0.0, 0.2}) {
        check(sample_uniform({5, n}, 1, -5, 5), 1, -100, e, 5e-6);
        check(sample_uniform({n, 19}, 2, -5, 5), 0, 2, e, 5e-6);
        check(sample_uniform({2, n, 3}, 3, -5, 5).to(DType::f64), 1, 0, e, 1e-12);
      }
    }
    check(sample_uniform({2, 5003}, 2, -5, 5), 1, -100, 0.1, 5e-6);
  });
}

BOOST_AUTO_TEST_CASE(soft_targets_match_the_reference_for_all_simd_targets_axes_and_sizes) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t n : {1, 3, 8, 17, 67}) {
      for (const double e : {0.0, 0.2}) {
        check_soft(sample_uniform({5, n}, 1, -5, 5), 1, e, 5e-6);
        check_soft(sample_uniform({n, 19}, 2, -5, 5), 0, e, 5e-6);
        check_soft(sample_uniform({2, n, 70}, 2, -5, 5), 1, e, 5e-6);
        check_soft(sample_uniform({2, n, 3}, 3, -5, 5).to(DType::f64), 1, e, 1e-12);
      }
    }
    check_soft(sample_uniform({2, 5003}, 2, -5, 5), 1, 0.1, 5e-6);
  });
}

// If the cotangent at a position is NaN, its gradients must be NaN, not zero as they are at ignored
// positions.
BOOST_AUTO_TEST_CASE(a_nan_cotangent_gives_nan_gradients_along_any_axis) {
  testing::for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      const float nan = std::nanf("");
      const Tensor g = Tensor::of<float>({2}, {nan, 1}), lse = Tensor::of<float>({2}, {2, 2});
      const Tensor targets = Tensor::of<std::int64_t>({2}, {0, 1});
      for (const std::int64_t axis : {0, 1}) {
        const Sizes sizes = axis == 0 ? Sizes{3, 2} : Sizes{2, 3};
        const Tensor dx =
            evaluate_op(builtin_ops()->at("cross_entropy_grad"),
                        {g, sample_uniform(sizes, 1), targets, lse}, {{"axis", axis}})[0];
        for (std::int64_t i = 0; i < 6; ++i) {
          const bool first = axis == 0 ? i % 2 == 0 : i < 3;
          BOOST_TEST(std::isnan(dx.at(i)) == first);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(errors_for_out_of_range_targets_name_position_value_and_bound) {
  BOOST_CHECK_EQUAL(data_error(Tensor::of<std::int64_t>({2, 3}, {0, 1, 2, 3, 4, 5})),
                    "targets[1, 2] is 5, but there are 5 classes: it must be in [0, 5) or "
                    "ignore_index -100");
  BOOST_CHECK_EQUAL(data_error(Tensor::of<std::int32_t>({2, 3}, {0, -1, 2, 3, 4, 4})),
                    "targets[0, 1] is -1, but there are 5 classes: it must be in [0, 5) or "
                    "ignore_index -100");
  BOOST_CHECK_EQUAL(data_error(Tensor::of<std::int64_t>({2, 3}, {0, -100, 2, 3, 4, 4})),
                    "no error");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
