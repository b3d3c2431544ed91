#include "weft/tests/reference/conv.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using testing::ConvOptions;
using Ints = std::vector<std::int64_t>;

struct ConvCase {
  Sizes x, w;
  ConvOptions options;
};

std::vector<ConvCase> cases() {
  return {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{2, 3, 9, 7}, {5, 3, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}},
      {{2, 4, 13, 11}, {6, 2, 5, 3}, {{3, 2}, {2, 1}, {1, 1}, 2}},
      {{1, 6, 12, 10}, {6, 1, 3, 3}, {{1, 2}, {2, 3}, {2, 3}, 6}},
      {{2, 3, 16, 16}, {17, 3, 8, 8}, {{8, 8}, {0, 0}, {1, 1}, 1}},
      {{2, 13, 5, 5}, {11, 13, 1, 1}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{1, 2, 40, 50}, {3, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},  // several tiles of positions
      {{1, 150, 4, 4}, {100, 150, 2, 2}, {{1, 1}, {1, 1}, {1, 1}, 1}},  // several tiles of channels
      // kernel positions that cover padding only
      {{1, 1, 2, 3}, {2, 1, 1, 9}, {{1, 1}, {0, 6}, {1, 1}, 1}},
      {{0, 2, 3, 3}, {2, 2, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},
      {{2, 0, 3, 3}, {2, 0, 2, 2}, {{1, 1}, {0, 0}, {1, 1}, 1}},
  };
}

void check_close(const Tensor& actual, const std::vector<double>& expected, double tolerance) {
  BOOST_REQUIRE_EQUAL(actual.numel(), static_cast<std::int64_t>(expected.size()));
  double largest = 1, worst = 0;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    const double e = expected[static_cast<std::size_t>(i)];
    largest = std::max(largest, std::abs(e));
    worst = std::max(worst, std::abs(actual.at(i) - e));
  }
  BOOST_REQUIRE_SMALL(worst, tolerance * largest);
}

void check(const ConvCase& c, DType dtype, double tolerance) {
  const ConvOptions& o = c.options;
  Attributes attributes{{"stride", Ints(o.stride, o.stride + 2)},
                        {"padding", Ints(o.padding, o.padding + 2)},
                        {"dilation", Ints(o.dilation, o.dilation + 2)},
                        {"groups", o.groups}};
  const Tensor x = sample_uniform(c.x, 1).to(dtype), w = sample_uniform(c.w, 2).to(dtype);
  const Tensor out = evaluate_op(builtin_ops()->at("conv2d"), {x, w}, attributes)[0];
  const Tensor g = sample_uniform(out.sizes(), 3).to(dtype);
  const auto zeros = [](const Tensor& t) {
    return std::vector<double>(static_cast<std::size_t>(t.numel()));
  };
  std::vector<double> y = zeros(out), dx = zeros(x), dw = zeros(w);
  testing::for_conv_terms(c.x, c.w, out.sizes(), o,
                          [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
                            y[static_cast<std::size_t>(yi)] += x.at(xi) * w.at(wi);
                            dx[static_cast<std::size_t>(xi)] += g.at(yi) * w.at(wi);
                            dw[static_cast<std::size_t>(wi)] += g.at(yi) * x.at(xi);
                          });
  check_close(out, y, tolerance);
  Attributes with_size = attributes, with_kernel = attributes;
  with_size.set("height", Dim(c.x[2]));
  with_size.set("width", Dim(c.x[3]));
  with_kernel.set("kernel", Ints{c.w[2], c.w[3]});
  check_close(evaluate_op(builtin_ops()->at("conv2d_input_grad"), {g, w}, with_size)[0], dx,
              tolerance);
  check_close(evaluate_op(builtin_ops()->at("conv2d_weight_grad"), {g, x}, with_kernel)[0], dw,
              tolerance);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conv_ops)

BOOST_AUTO_TEST_CASE(convolutions_match_the_reference_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const ConvCase& c : cases()) {
      check(c, DType::f32, 3e-6);
      check(c, DType::f64, 1e-14);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
