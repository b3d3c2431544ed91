// Compares `same` padding, transposed convolutions and pooling with loops that implement their
// definitions.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

// TensorFlow's rule for one axis. Returns the elements that each window covers, or -1 for padding.
std::vector<std::vector<int>> same_windows(int size, int kernel, int stride, int dilation) {
  const int count = (size + stride - 1) / stride, span = dilation * (kernel - 1) + 1;
  const int before = std::max((count - 1) * stride + span - size, 0) / 2;
  std::vector<std::vector<int>> windows;
  for (int w = 0; w < count; ++w) {
    std::vector<int> taps;
    for (int k = 0; k < kernel; ++k) {
      const int at = w * stride + k * dilation - before;
      taps.push_back(at < 0 || at >= size ? -1 : at);
    }
    windows.push_back(taps);
  }
  return windows;
}

double element(int i) { return std::sin(1.0 + 3 * i) - 0.3; }
double tap(int i) { return 0.5 + i; }

BOOST_AUTO_TEST_SUITE(windows)

BOOST_AUTO_TEST_CASE(same_padding_matches_tensorflow_for_symbolic_sizes) {
  for (int kernel = 1; kernel <= 4; ++kernel) {
    for (int stride = 1; stride <= 4; ++stride) {
      for (int dilation = 1; dilation <= 2; ++dilation) {
        Graph g;
        const Value x = g.input("x", DType::f64, {1, 1, "n"});
        std::vector<double> taps;
        for (int k = 0; k < kernel; ++k) taps.push_back(tap(k));
        const Value w = g.constant(Tensor::of<double>({1, 1, kernel}, taps));
        const Value conv =
            conv1d(x, w, {}, {.stride = stride, .padding = same_padding, .dilation = dilation});
        Program program("p");
        program.output("conv", conv);
        if (dilation == 1) {
          const Pool1dOptions pool{.kernel = kernel, .stride = stride, .padding = same_padding};
          program.output("max", max_pool1d(x, pool)).output("avg", avg_pool1d(x, pool));
        }
        // The shape of the result contains the number of windows.
        const Dim count = floor_div(g.dim("n") + Dim(stride - 1), Dim(stride));
        BOOST_TEST((conv.shape() == Shape{Dim(1), Dim(1), count}), conv.type().str());
        Session session(g, {.threads = 1});
        for (int n = 1; n <= 7; ++n) {
          std::vector<double> values;
          for (int i = 0; i < n; ++i) values.push_back(element(i));
          const Results r = session.run(program, {{"x", Tensor::of<double>({1, 1, n}, values)}});
          const auto windows = same_windows(n, kernel, stride, dilation);
          BOOST_REQUIRE(r["conv"].numel() == std::ssize(windows));
          for (std::size_t i = 0; i < windows.size(); ++i) {
            double product = 0, total = 0, count_in = 0;
            double largest = -std::numeric_limits<double>::infinity();
            for (int k = 0; k < kernel; ++k) {
              const int at = windows[i][static_cast<std::size_t>(k)];
              if (at < 0) continue;
              product += tap(k) * element(at);
              total += element(at);
              ++count_in;
              largest = std::max(largest, element(at));
            }
            const auto at = static_cast<std::int64_t>(i);
            BOOST_TEST_INFO("kernel " << kernel << " stride " << stride << " n " << n);
            BOOST_TEST(std::abs(r["conv"].at(at) - product) < 1e-12);
            if (dilation != 1 || count_in == 0) continue;
            BOOST_TEST(r["max"].at(at) == largest);
            BOOST_TEST(std::abs(r["avg"].at(at) - total / count_in) < 1e-12);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(symmetric_same_padding_copies_nothing) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2, "h", "w"});
  const Value w = g.input("k", DType::f32, {3, 2, 3, 5});
  const Value y = conv2d(x, w, {}, {.padding = same_padding});
  BOOST_TEST(y.type().str() == "f32[n, 3, h, w]");
  BOOST_TEST(y.node().op().name == "conv2d");
  BOOST_TEST((y.node().input(0) == x));
  // Even kernel sizes and strides need more padding on one side.
  const Value image = g.input("image", DType::f32, {1, 2, 8, 9});
  const Value even = conv2d(image, w, {}, {.stride = {2, 2}, .padding = same_padding});
  BOOST_TEST(even.type().str() == "f32[1, 3, 4, 5]");
  BOOST_TEST(max_pool2d(image, {.kernel = {2, 3}, .padding = same_padding}).type().str() ==
             "f32[1, 2, 4, 3]");
}

BOOST_AUTO_TEST_CASE(padding_can_be_a_number_or_same) {
  BOOST_TEST(Padding1d(3).both_sides() == 3);
  BOOST_TEST(!Padding1d(3).same());
  BOOST_TEST(Padding1d(same_padding).same());
  BOOST_TEST((Padding2d(1, 2).both_sides() == Size2d{1, 2}));
  BOOST_TEST(!Padding2d(Size2d{1, 2}).same());
  BOOST_TEST(Padding2d(same_padding).same());
}

BOOST_AUTO_TEST_CASE(transposed_convolutions_are_adjoints_of_convolutions) {
  for (const int kernel : {1, 2, 3, 5}) {
    for (const int stride : {1, 2, 3}) {
      Graph g;
      const Value x = g.input("x", DType::f64, {2, 3, "n"}),
                  w = g.input("w", DType::f64, {3, 2, kernel});
      const Value up = conv_transpose1d(x, w, {}, {.stride = stride, .padding = same_padding});
      BOOST_TEST((up.shape()[2] == g.dim("n") * Dim(stride)), up.type().str());
      const Value y = g.input("y", DType::f64, {2, 2, "m"});
      const Value down = conv1d(y, w, {}, {.stride = stride, .padding = same_padding});
      Program program("p");
      program.output("up", up).output("down", down);
      Session session(g, {.threads = 1});
      for (const int n : {1, 4}) {
        const Tensor xs = sample_uniform({2, 3, n}, 1).to(DType::f64);
        const Tensor ys = sample_uniform({2, 2, n * stride}, 2).to(DType::f64);
        const Results r = session.run(
            program,
            {{"x", xs}, {"y", ys}, {"w", sample_uniform({3, 2, kernel}, 3).to(DType::f64)}});
        double left = 0, right = 0;
        for (std::int64_t i = 0; i < xs.numel(); ++i) left += xs.at(i) * r["down"].at(i);
        for (std::int64_t i = 0; i < ys.numel(); ++i) right += ys.at(i) * r["up"].at(i);
        BOOST_TEST(std::abs(left - right) < 1e-9);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_match_finite_differences) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 2, 4, 5}),
              w = g.input("w", DType::f32, {2, 2, 2, 3});
  const std::vector<std::pair<std::string, Tensor>> feeds = {
      {"x", sample_distinct({2, 2, 4, 5}, 1)}, {"w", sample_uniform({2, 2, 2, 3}, 2)}};
  const auto check = [&](Value out, const std::vector<Value>& wrt) {
    const GradientReport report = check_gradients(out, wrt, {.feeds = feeds, .second_order = true});
    BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
  };
  check(conv2d(x, w, {}, {.stride = {2, 1}, .padding = same_padding}), {x, w});
  check(conv_transpose2d(x, w, {}, {.stride = {2, 3}, .output_padding = {1, 2}}), {x, w});
  check(conv_transpose2d(x, w, {}, {.stride = {3, 2}, .padding = same_padding}), {x, w});
  check(avg_pool2d(x, {.kernel = {3, 2}, .stride = Size2d{2, 2}, .padding = same_padding}), {x});
  check(max_pool2d(x, {.kernel = {3, 2}, .stride = Size2d{2, 2}, .padding = same_padding}), {x});
  check(global_avg_pool(x), {x});
  check(global_max_pool(x), {x});
  check(adaptive_avg_pool2d(x, {3, 5}), {x});
}

BOOST_AUTO_TEST_CASE(empty_batches_give_empty_results) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2, 4, 4}),
              w = g.input("w", DType::f32, {2, 3, 2, 2});
  const Value up = conv_transpose2d(x, w, {}, {.stride = {2, 2}});
  Program program("p");
  program.output("up", up)
      .output("dw", gradient(sum(up), w))
      .output("mean", global_avg_pool(x))
      .output("same", avg_pool2d(x, {.kernel = {3, 3}, .padding = same_padding}));
  Session session(g);
  const Results r = session.run(program, {{"x", Tensor::zeros(DType::f32, {0, 2, 4, 4})},
                                          {"w", Tensor::full(DType::f32, {2, 3, 2, 2}, 1)}});
  BOOST_TEST(r["up"].type_str() == "f32[0, 3, 8, 8]");
  BOOST_TEST(r["mean"].type_str() == "f32[0, 2]");
  BOOST_TEST(r["same"].type_str() == "f32[0, 2, 2, 2]");
  BOOST_TEST(r["dw"].at(0) == 0);
}

// A window covers exactly its own elements, so a NaN elsewhere does not affect it.
BOOST_AUTO_TEST_CASE(adaptive_windows_cover_only_their_elements) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  for (int size = 1; size <= 9; ++size) {
    for (int count = 1; count <= 11; ++count) {
      for (int bad = -1; bad < size; ++bad) {
        Graph g;
        std::vector<double> values;
        for (int i = 0; i < size; ++i) values.push_back(i == bad ? kNan : element(i));
        const Value x = g.constant(Tensor::of<double>({1, 1, size, 1}, values));
        const Value y = reshape(x, Shape{1, 1, 1, size});
        Session session(g, {.threads = 1});
        const Results r = session.run(Program("p")
                                          .output("rows", adaptive_avg_pool2d(x, {count, 1}))
                                          .output("columns", adaptive_avg_pool2d(y, {1, count})));
        BOOST_REQUIRE((r["rows"].sizes() == Sizes{1, 1, count, 1}));
        BOOST_REQUIRE((r["columns"].sizes() == Sizes{1, 1, 1, count}));
        for (int i = 0; i < count; ++i) {
          const int begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
          double total = 0;
          for (int k = begin; k < end; ++k) total += values[static_cast<std::size_t>(k)];
          for (const char* name : {"rows", "columns"}) {
            const double found = r[name].at(i);
            if (bad >= begin && bad < end) {
              BOOST_TEST(std::isnan(found));
            } else {
              BOOST_TEST(std::abs(found - total / (end - begin)) < 1e-12);
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_arguments) {
  Graph g;
  const Value x = g.input("x", DType::f32, {1, 4, 5, 6}),
              w = g.input("w", DType::f32, {4, 2, 3, 3});
  const auto refuses = [](auto&& build, const std::string& words) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({words, "windows_test.cc"}));
  };
  refuses(
      [&] {
        conv_transpose2d(x, w, {}, {.output_padding = {0, 1}});
      },
      "conv_transpose2d: output_padding must be at least 0 and less than the stride, 1, but is 1");
  refuses(
      [&] {
        conv_transpose2d(x, w, {}, {.stride = {2, 2}, .output_padding = {-1, 0}});
      },
      "less than the stride, 2, but is -1");
  refuses(
      [&] {
        conv_transpose2d(x, w, {},
                         {.stride = {2, 2}, .padding = same_padding, .output_padding = {1, 0}});
      },
      "same_padding determines the output size: output_padding must be 0, not 1");
  refuses(
      [&] {
        conv_transpose2d(x, w, {}, {.stride = {0, 1}});
      },
      "stride and dilation must be at least 1, but are 0 and 1");
  refuses(
      [&] {
        conv_transpose2d(x, w, {}, {.padding = {4, 0}});
      },
      "height: a padding of 4 removes all 7 elements");
  refuses(
      [&] {
        conv_transpose2d(x, g.input("v", DType::f32, {3, 2, 3, 3}));
      },
      "channels of x (axis 1) and of weight (axis 0) differ: 4 and 3");
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const ConvTranspose2dOptions& options :
       {ConvTranspose2dOptions{.stride = {1, huge}}, ConvTranspose2dOptions{.padding = {huge, 0}},
        ConvTranspose2dOptions{.padding = {0, -1}},
        ConvTranspose2dOptions{.dilation = {huge, 1}}}) {
    refuses(
        [&] { conv_transpose2d(x, w, {}, options); },
        "conv_transpose2d: stride, dilation and padding must be non-negative and less than 2^31");
  }
  refuses(
      [&] {
        conv2d(x, g.input("k", DType::f32, {4, 4, 2, 2}), {},
               {.padding = same_padding, .dilation = {1, huge}});
      },
      "dilation must be less than 2^31");
  refuses(
      [&] {
        max_pool2d(x, {.kernel = {1, huge}, .padding = same_padding});
      },
      "kernel must be less than 2^31");
  refuses(
      [&] {
        max_pool2d(x, {.kernel = {1, 2}, .stride = Size2d{huge, 1}, .padding = same_padding});
      },
      "stride must be less than 2^31");
  refuses([&] { conv_transpose2d(x, w, {}, {.groups = 3}); },
          "conv_transpose2d: the channels of x, 4, must be a multiple of groups, 3");
  refuses([&] { conv_transpose2d(x, w, {}, {.groups = 0}); },
          "groups must be at least 1, but is 0");
  refuses([&] { conv_transpose2d(x, select(w, 0, 0)); },
          "weight [C, O / groups, kh, kw] must have 4 axes, but is f32[2, 3, 3] with 3");
  refuses([&] { conv_transpose1d(x, w); }, "x [N, C, L] must have 3 axes");
  refuses(
      [&] {
        conv_transpose2d(x, w, g.input("b", DType::f32, {2, 1}));
      },
      "bias must have 1 axis, [O], but is f32[2, 1]");
  refuses([&] { global_avg_pool(select(select(x, 0, 0), 0, 0)); },
          "global_avg_pool: x must be [N, C, ...] with a spatial axis, but is f32[5, 6]");
  refuses([&] { adaptive_avg_pool2d(x, {0, 1}); }, "size must be at least 1, but is 0 x 1");
  refuses(
      [&] {
        adaptive_avg_pool2d(g.input("s", DType::f32, {1, 1, "h", 3}), {2, 1});
      },
      "height must be constant and at least 1 to be divided into 2 windows, but is h");
  // If the kernel does not match the input at all, the op itself still reports the error.
  refuses(
      [&] {
        conv2d(x, g.input("u", DType::f32, {4, 3, 3, 3}), {}, {.padding = same_padding});
      },
      "channels of x (axis 1) and of w (axis 1) times groups: 4 and 3 differ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
