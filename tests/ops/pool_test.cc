#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using Ints = std::vector<std::int64_t>;

struct PoolCase {
  Sizes x;
  Ints kernel, stride, padding;
};

std::vector<PoolCase> pool_cases() {
  return {{{2, 3, 6, 8}, {2, 2}, {2, 2}, {0, 0}}, {{1, 2, 5, 9}, {3, 3}, {1, 2}, {1, 1}},
          {{1, 1, 7, 4}, {1, 3}, {3, 1}, {0, 1}}, {{3, 40, 17, 13}, {5, 4}, {2, 3}, {2, 2}},
          {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0}}, {{2, 0, 3, 3}, {2, 2}, {1, 1}, {0, 0}}};
}

Attributes attributes(const PoolCase& c) {
  return {{"kernel", c.kernel}, {"stride", c.stride}, {"padding", c.padding}};
}

// Calls fn(out index, plane, y, x) for every position of every window, including the padding.
template <class Fn>
void for_places(const PoolCase& c, const Sizes& out, Fn fn) {
  for (std::int64_t i = 0; i < num_elements(out); ++i) {
    const std::int64_t ox = i % out[3], oy = i / out[3] % out[2], plane = i / out[3] / out[2];
    for (std::int64_t k = 0; k < c.kernel[0] * c.kernel[1]; ++k) {
      fn(i, plane, oy * c.stride[0] - c.padding[0] + k / c.kernel[1],
         ox * c.stride[1] - c.padding[1] + k % c.kernel[1]);
    }
  }
}

// Returns the maxima as computed for a graph that does not read the positions.
Tensor maxima_alone(const Tensor& x, const Attributes& attributes, const Sizes& sizes) {
  const OpRecord& op = builtin_ops()->at("max_pool2d");
  KernelRequest request;
  request.inputs = {{x.dtype(), x.sizes()}};
  request.outputs = {{x.dtype(), sizes}, {DType::i64, sizes, false}};
  request.attributes = op.complete(attributes);
  Tensor out = Tensor::empty(x.dtype(), sizes);
  const void* const in[] = {x.raw()};
  void* const to[] = {out.mutable_raw(), nullptr};
  const Kernel kernel = op.kernel(request);
  for (const Phase& phase : kernel.phases)
    for (std::int64_t i = 0; i < phase.chunks; ++i) phase.body({.inputs = in, .outputs = to}, i);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pool_ops)

BOOST_AUTO_TEST_CASE(maxima_have_the_same_bits_without_their_positions) {
  std::vector<PoolCase> cases = pool_cases();
  for (const std::int64_t stride : {1, 2, 3})
    cases.push_back({{1, 2, 9, 75}, {3, 3}, {2, stride}, {1, 1}});
  testing::for_each_simd_target([&](const char* target) {
    for (const PoolCase& c : cases) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        // Few values, so that there are ties, zeros of both signs and NaNs.
        Tensor x = sample_indices(c.x, 3, 5).to(dtype);
        for (std::int64_t i = 0; i < x.numel(); ++i) {
          const double value = x.at(i) == 1 ? -0.0 : x.at(i) == 4 && i % 7 == 0 ? NAN : x.at(i);
          if (dtype == DType::f32) x.mutable_data<float>()[i] = static_cast<float>(value);
          if (dtype == DType::f64) x.mutable_data<double>()[i] = value;
        }
        const Tensor want = evaluate_op(builtin_ops()->at("max_pool2d"), {x}, attributes(c))[0];
        BOOST_TEST(bitwise_equal(maxima_alone(x, attributes(c), want.sizes()), want),
                   to_string(c.x) << " on " << target);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(max_pool_returns_maxima_and_their_positions) {
  for (const PoolCase& c : pool_cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor x = sample_uniform(c.x, 4).to(dtype);
      const auto result = evaluate_op(builtin_ops()->at("max_pool2d"), {x}, attributes(c));
      const Tensor &out = result[0], &index = result[1];
      std::vector<double> best(static_cast<std::size_t>(out.numel()),
                               -std::numeric_limits<double>::infinity());
      for_places(c, out.sizes(),
                 [&](std::int64_t i, std::int64_t plane, std::int64_t y, std::int64_t z) {
                   if (y < 0 || y >= c.x[2] || z < 0 || z >= c.x[3]) return;
                   double& b = best[static_cast<std::size_t>(i)];
                   b = std::max(b, x.at((plane * c.x[2] + y) * c.x[3] + z));
                 });
      for (std::int64_t i = 0; i < out.numel(); ++i) {
        BOOST_REQUIRE_EQUAL(out.at(i), best[static_cast<std::size_t>(i)]);
        const std::int64_t plane = i / (out.size(2) * out.size(3));
        const auto place = static_cast<std::int64_t>(index.at(i));
        BOOST_REQUIRE_EQUAL(x.at(plane * c.x[2] * c.x[3] + place), out.at(i));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_maxima_or_the_first_nan_is_selected) {
  const Attributes whole{{"kernel", Ints{2, 3}}, {"stride", Ints{1, 1}}};
  const OpRecord& op = builtin_ops()->at("max_pool2d");
  const auto equal = evaluate_op(op, {Tensor::of<float>({1, 1, 2, 3}, {1, 2, 0, 2, 2, 1})}, whole);
  BOOST_CHECK_EQUAL(equal[0].at(0), 2);
  BOOST_CHECK_EQUAL(equal[1].at(0), 1);
  const auto nan =
      evaluate_op(op, {Tensor::of<float>({1, 1, 2, 3}, {1, 9, NAN, 99, NAN, 1})}, whole);
  BOOST_CHECK(std::isnan(nan[0].at(0)));
  BOOST_CHECK_EQUAL(nan[1].at(0), 2);
  const float inf = INFINITY;
  const auto low = evaluate_op(
      op, {Tensor::of<float>({1, 1, 2, 3}, {-inf, -inf, -inf, -inf, -inf, -inf})}, whole);
  BOOST_CHECK_EQUAL(low[0].at(0), -inf);
  BOOST_CHECK_EQUAL(low[1].at(0), 0);
}

BOOST_AUTO_TEST_CASE(mean_pooling_and_its_adjoint_match_the_reference) {
  for (const PoolCase& c : pool_cases()) {
    const Tensor x = sample_uniform(c.x, 5).to(DType::f64);
    const Tensor out = evaluate_op(builtin_ops()->at("avg_pool2d"), {x}, attributes(c))[0];
    const Tensor g = sample_uniform(out.sizes(), 6).to(DType::f64);
    Attributes with_size = attributes(c);
    with_size.set("height", Dim(c.x[2]));
    with_size.set("width", Dim(c.x[3]));
    const Tensor dx = evaluate_op(builtin_ops()->at("avg_pool2d_grad"), {g}, with_size)[0];
    BOOST_REQUIRE(dx.sizes() == c.x);
    std::vector<double> mean(static_cast<std::size_t>(out.numel()));
    std::vector<double> spread(static_cast<std::size_t>(x.numel()));
    const double area = static_cast<double>(c.kernel[0] * c.kernel[1]);
    for_places(c, out.sizes(),
               [&](std::int64_t i, std::int64_t plane, std::int64_t y, std::int64_t z) {
                 if (y < 0 || y >= c.x[2] || z < 0 || z >= c.x[3]) return;
                 const std::int64_t source = (plane * c.x[2] + y) * c.x[3] + z;
                 mean[static_cast<std::size_t>(i)] += x.at(source) / area;
                 spread[static_cast<std::size_t>(source)] += g.at(i) / area;
               });
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      BOOST_REQUIRE_SMALL(out.at(i) - mean[static_cast<std::size_t>(i)], 1e-14);
    }
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      BOOST_REQUIRE_SMALL(dx.at(i) - spread[static_cast<std::size_t>(i)], 1e-14);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
