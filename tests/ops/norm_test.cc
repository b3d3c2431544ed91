#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/norm.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<double> row(const Tensor& t, std::int64_t r, std::int64_t n) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(t.at(r * n + i));
  return values;
}

/// Compares both norms with the reference, forward and backward.
void check(std::int64_t rows, std::int64_t n, DType dtype, bool centered, double tolerance) {
  const Tensor x = sample_uniform({rows, n}, 1, -1, 3).to(dtype);
  const Tensor gain = sample_uniform({n}, 2).to(dtype), bias = sample_uniform({n}, 3).to(dtype);
  const Tensor g = sample_uniform({rows, n}, 4).to(dtype);
  std::vector<Tensor> out, grads;
  if (centered) {
    out = evaluate_op(builtin_ops()->at("layer_norm"), {x, gain, bias},
                      {{"axes", std::int64_t{1}}, {"eps", 1e-3}});
    grads = evaluate_op(builtin_ops()->at("layer_norm_grad"), {g, x, gain, out[1], out[2]},
                        {{"axes", std::int64_t{1}}});
  } else {
    out = evaluate_op(builtin_ops()->at("rms_norm"), {x, gain}, {{"eps", 1e-3}});
    grads = evaluate_op(builtin_ops()->at("rms_norm_grad"), {g, x, gain, out[1]});
  }
  std::vector<double> dgain(static_cast<std::size_t>(n)), dbias(dgain);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto f = testing::reference_norm(row(x, r, n), 1e-3, centered);
    std::vector<double> h;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto u = static_cast<std::size_t>(i);
      const double y = f.xhat[u] * gain.at(i) + (centered ? bias.at(i) : 0);
      BOOST_REQUIRE_SMALL(out[0].at(r * n + i) - y, tolerance);
      h.push_back(g.at(r * n + i) * gain.at(i));
      dgain[u] += g.at(r * n + i) * f.xhat[u];
      dbias[u] += g.at(r * n + i);
    }
    const auto dx = testing::reference_norm_grad(f, h, centered);
    for (std::int64_t i = 0; i < n; ++i) {
      BOOST_REQUIRE_SMALL(grads[0].at(r * n + i) - dx[static_cast<std::size_t>(i)],
                          tolerance * std::max(1.0, f.rstd));
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto u = static_cast<std::size_t>(i);
    BOOST_REQUIRE_SMALL(grads[1].at(i) - dgain[u], tolerance * static_cast<double>(rows + 1));
    if (centered) {
      BOOST_REQUIRE_SMALL(grads[2].at(i) - dbias[u], tolerance * static_cast<double>(rows + 1));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(norm_op)

BOOST_AUTO_TEST_CASE(matches_the_reference_for_all_simd_targets_and_sizes) {
  testing::for_each_simd_target([](const char*) {
    for (const bool centered : {true, false}) {
      for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 16, 17, 33, 131, 1031}) {
        check(5, n, DType::f32, centered, 5e-6);
        check(5, n, DType::f64, centered, 1e-12);
      }
      check(0, 7, DType::f32, centered, 0);
      check(1500, 19, DType::f32, centered, 5e-6);
    }
  });
}

BOOST_AUTO_TEST_CASE(the_variance_is_accurate_for_a_large_mean) {
  const Tensor x = Tensor::of<float>({1, 4}, {10000.f, 10001.f, 10002.f, 10003.f});
  const auto out = evaluate_op(builtin_ops()->at("layer_norm"), {x, Tensor(), Tensor()},
                               {{"axes", std::int64_t{1}}, {"eps", 0.0}});
  BOOST_CHECK_SMALL(out[0].at(0) + 1.5 / std::sqrt(1.25), 1e-6);
  BOOST_CHECK_EQUAL(out[1].at(0), 10001.5);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
