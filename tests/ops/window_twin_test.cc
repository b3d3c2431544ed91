// Compares convolutions and pooling with their scalar models, forward and backward, for random
// kernels, strides, paddings, dilations and groups.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/ops/twin.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {
namespace {

using Ints = std::vector<std::int64_t>;

std::int64_t positions(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, std::int64_t dilation) {
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? -1 : room / stride + 1;
}

struct ConvUse {
  Sizes x, w, out;
  Attributes attributes;
};

ConvUse random_conv(Choices& c) {
  for (;;) {
    const std::int64_t groups = c.one_of({1, 1, 2, 3}), in = c.one_of({0, 1, 1, 2, 5, 9}),
                       outs = c.one_of({0, 1, 2, 3, 7, 14});
    ConvUse use;
    Ints stride, padding, dilation;
    use.x = {c.one_of({0, 1, 1, 2}), in * groups};
    use.w = {outs * groups, in};
    use.out = {use.x[0], use.w[0]};
    for (int axis = 0; axis < 2; ++axis) {
      const std::int64_t size = c.one_of({0, 1, 2, 3, 5, 8, 13, 20}), kernel = c.within(1, 4);
      stride.push_back(c.within(1, 4));
      padding.push_back(c.one_of({0, 0, 1, 2, 5}));
      dilation.push_back(c.one_of({1, 1, 2, 3}));
      use.x.push_back(size);
      use.w.push_back(kernel);
      use.out.push_back(positions(size, kernel, stride.back(), padding.back(), dilation.back()));
    }
    if (use.out[2] < 1 || use.out[3] < 1) continue;
    if (num_elements(use.out) * in * use.w[2] * use.w[3] > 100000) continue;
    use.attributes = {
        {"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
    return use;
  }
}

void check_conv(Choices& c, const ConvUse& use, DType dtype, Precision precision) {
  const Tensor x = c.uniform(use.x, dtype), w = c.uniform(use.w, dtype),
               g = c.uniform(use.out, dtype);
  check_twin("conv2d", {x, w}, use.attributes, precision);
  Attributes with_size = use.attributes, with_kernel = use.attributes;
  with_size.set("height", Dim(use.x[2]));
  with_size.set("width", Dim(use.x[3]));
  check_twin("conv2d_input_grad", {g, w}, with_size, precision);
  with_kernel.set("kernel", Ints{use.w[2], use.w[3]});
  check_twin("conv2d_weight_grad", {g, x}, with_kernel, precision);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(window_twin)

BOOST_AUTO_TEST_CASE(random_convolutions_match_their_scalar_models) {
  for_random_cases(40, 5000, [](Choices& c) {
    check_conv(c, random_conv(c), c.chance(0.5) ? DType::f32 : DType::f64, Precision::highest);
  });
}

BOOST_AUTO_TEST_CASE(random_convolutions_on_an_emulated_matrix_unit_match_at_every_precision) {
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_amx);
  for_random_seeds(30, 5500, [](Choices& c) {
    const std::vector<Precision> all = {Precision::highest, Precision::high, Precision::medium};
    check_conv(c, random_conv(c), DType::f32, c.one_of(all));
  });
}

BOOST_AUTO_TEST_CASE(random_pools_match_their_scalar_models) {
  for_random_cases(60, 6000, [](Choices& c) {
    for (;;) {
      Sizes x = {c.one_of({0, 1, 2}), c.one_of({0, 1, 3})}, out = x;
      Ints kernel, stride, padding;
      for (int axis = 0; axis < 2; ++axis) {
        x.push_back(c.one_of({0, 1, 2, 3, 5, 8, 13}));
        kernel.push_back(c.within(1, 5));
        stride.push_back(c.within(1, 4));
        padding.push_back(c.within(0, kernel.back() / 2));
        out.push_back(positions(x.back(), kernel.back(), stride.back(), padding.back(), 1));
      }
      if (out[2] < 1 || out[3] < 1) continue;
      const DType dtype = c.chance(0.5) ? DType::f32 : DType::f64;
      Attributes a{{"kernel", kernel}, {"stride", stride}, {"padding", padding}};
      Tensor image = c.uniform(x, dtype);
      check_twin("avg_pool2d", {image}, a);
      if (x[2] > 0 && x[3] > 0) {
        // Integers cause ties, to test that the first of several equal maxima is used.
        if (c.chance(0.5)) image = sample_indices(x, 6, 3).to(dtype);
        check_twin("max_pool2d", {image}, a);
      }
      a.set("height", Dim(x[2]));
      a.set("width", Dim(x[3]));
      check_twin("avg_pool2d_grad", {c.uniform(out, dtype)}, a);
      return;
    }
  });
}

// The cotangent of each window is added at the position of its maximum.
BOOST_AUTO_TEST_CASE(random_max_pool_gradients_match_a_plain_loop) {
  for_random_seeds(40, 6900, [](Choices& c) {
    for (;;) {
      const Sizes x = {c.within(0, 2), c.within(0, 2), c.within(1, 9), c.within(1, 9)};
      const Size2d kernel{c.within(1, 4), c.within(1, 4)}, stride{c.within(1, 3), c.within(1, 3)};
      const Size2d padding{c.within(0, kernel[0] / 2), c.within(0, kernel[1] / 2)};
      if (positions(x[2], kernel[0], stride[0], padding[0], 1) < 1) continue;
      if (positions(x[3], kernel[1], stride[1], padding[1], 1) < 1) continue;
      const Tensor image = sample_indices(x, 6, 5).to(DType::f64);  // with ties
      Graph graph;
      const Value vx = graph.input("x", ValueType{DType::f64, Shape(x)});
      const Value out = max_pool2d(vx, {.kernel = kernel, .stride = stride, .padding = padding});
      const Sizes sizes = out.shape().constant();
      const Tensor g = c.uniform(sizes, DType::f64);
      const Value vg = graph.input("g", ValueType{DType::f64, Shape(sizes)});
      const Tensor got = evaluate_graph({gradient(sum(out * vg), vx)}, {{vx, image}, {vg, g}})[0];
      const Attributes a{{"kernel", Ints(kernel.begin(), kernel.end())},
                         {"stride", Ints(stride.begin(), stride.end())},
                         {"padding", Ints(padding.begin(), padding.end())}};
      const auto want = scalar_outputs(builtin_ops()->at("max_pool2d"), {image}, a);
      std::vector<double> dx(static_cast<std::size_t>(image.numel()));
      for (std::int64_t i = 0; i < g.numel(); ++i) {
        const std::int64_t plane = i / (sizes[2] * sizes[3]);
        const std::int64_t place = want[1].elements[static_cast<std::size_t>(i)].integer;
        dx[static_cast<std::size_t>(plane * x[2] * x[3] + place)] += g.at(i);
      }
      BOOST_TEST_CONTEXT(use_text("max_pool2d", {image}, a)) {
        for (std::int64_t i = 0; i < got.numel(); ++i)
          BOOST_REQUIRE_SMALL(got.at(i) - dx[static_cast<std::size_t>(i)], 1e-14);
      }
      return;
    }
  });
}

// The largest allowed strides, paddings and dilations must not overflow.
BOOST_AUTO_TEST_CASE(huge_windows_have_one_position_or_are_rejected) {
  constexpr std::int64_t kMax = (std::int64_t{1} << 31) - 1;
  Choices c(7);
  const Tensor x = c.uniform({1, 1, 3, 2}), w = c.uniform({1, 1, 1, 2});
  const Attributes far{{"stride", Ints{kMax, kMax}}};
  check_twin("conv2d", {x, w}, far);
  const Attributes padded{{"stride", Ints{kMax, kMax}}, {"padding", Ints{kMax, 0}}};
  check_twin("conv2d", {x, w}, padded);
  const Attributes spread{{"stride", Ints{1, 1}}, {"dilation", Ints{1, kMax}}};
  BOOST_CHECK_THROW(evaluate_op(builtin_ops()->at("conv2d"), {x, w}, spread), ShapeError);
  for (const char* name : {"stride", "padding", "dilation"}) {
    for (const std::int64_t value :
         {kMax + 1, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
      BOOST_CHECK_THROW(evaluate_op(builtin_ops()->at("conv2d"), {x, w}, {{name, Ints{1, value}}}),
                        ArgumentError);
    }
  }
  // An empty batch of images with about 2^29 positions each.
  const Tensor none = Tensor::zeros(DType::f32, {0, 1, 3, 2});
  BOOST_TEST(evaluate_op(builtin_ops()->at("conv2d"), {none, w}, {{"padding", Ints{1 << 28, 0}}})[0]
                 .numel() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
