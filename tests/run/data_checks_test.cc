// Kernel errors that depend on sizes or data must be the same in a Session as for a single op.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/ops/op.h"
#include "weft/tests/run/engine_graphs.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::says;
using testing::strict;

Tensor position(std::int64_t p) { return Tensor::of<std::int64_t>({1}, {p}); }

// One query over 64 keys, with a table of 64 offsets that is only large enough for position 0.
struct TableAttention {
  Graph g;
  Value q = g.input("q", DType::f32, {1, 1, 1, 8});
  Value k = g.input("k", DType::f32, {1, 1, 64, 8});
  Value table = g.input("table", DType::f32, {1, "entries"});
  Value start = g.input("start", DType::i64, {1});
  Session session{g, strict()};

  Tensor run(const Value& out, std::int64_t entries, std::int64_t at) {
    return session.run(Program("p").output("out", out), {{"q", sample_uniform({1, 1, 1, 8}, 1)},
                                                         {"k", sample_uniform({1, 1, 64, 8}, 2)},
                                                         {"table", sample_uniform({1, entries}, 3)},
                                                         {"start", position(at)}})["out"];
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(data_checks)

BOOST_AUTO_TEST_CASE(a_start_beyond_the_offset_table_is_rejected_before_the_table_is_computed) {
  TableAttention t;
  // The table is computed by the program, so it does not exist yet when the data is checked.
  const Value made = t.table * 2.0;
  const AttentionOptions options{.offset_bias = made, .causal = true, .q_start = t.start};
  const Value out = attention(t.q, t.k, t.k, options);
  const std::string message =
      "offset_bias has 64 entries per head, but q_start[0] = 30 with 1 queries and 64 keys "
      "requires 94";
  BOOST_CHECK_EXCEPTION(t.run(out, 64, 30), DataError, says(message));
  BOOST_CHECK_EXCEPTION(t.run(gradient(sum(out), t.q), 64, 30), DataError, says(message));
  BOOST_TEST(t.run(out, 64, 0).numel() == 8);
  BOOST_TEST(t.run(out, 94, 30).numel() == 8);
}

BOOST_AUTO_TEST_CASE(a_start_near_the_largest_integer_does_not_overflow) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  TableAttention t;
  const auto run = [&](const AttentionOptions& options, std::int64_t at) {
    return t.run(attention(t.q, t.k, t.k, options), 64, at);
  };
  BOOST_CHECK_EXCEPTION(run({.causal = true, .q_start = t.start}, kLargest), DataError,
                        says("cache overflow"));
  BOOST_CHECK_EXCEPTION(run({.offset_bias = t.table, .q_start = t.start}, kLargest), DataError,
                        says("offset_bias has 64 entries"));
  const Tensor nothing = run({.window = 5, .q_start = t.start}, kLargest);
  for (int i = 0; i < 8; ++i) BOOST_TEST(nothing.at(i) == 0);
}

BOOST_AUTO_TEST_CASE(symbolic_image_sizes_smaller_than_the_window_throw_shape_errors) {
  Graph g;
  const Value image = g.input("image", DType::f32, {1, 2, "height", "width"});
  const Value line = g.input("line", DType::f32, {1, 2, "length"});
  const Value w = g.input("w", DType::f32, {2, 2, 5, 5});
  const Value w1 = g.input("w1", DType::f32, {2, 2, 5});
  const Size2d two{2, 2}, five{5, 5};
  Session session(g, strict());
  const std::vector<Value> images = {conv2d(image, w, {}, {.stride = two}),
                                     gradient(sum(conv2d(image, w, {}, {.stride = two})), image),
                                     gradient(sum(conv2d(image, w, {}, {.stride = two})), w),
                                     max_pool2d(image, {.kernel = five, .stride = two}),
                                     avg_pool2d(image, {.kernel = five, .stride = two}),
                                     gradient(sum(avg_pool2d(image, {.kernel = five})), image)};
  const auto run_image = [&](const Value& v, std::int64_t height, std::int64_t width) {
    return session.run(Program("p").output("out", v),
                       {{"image", sample_uniform({1, 2, height, width}, 1)},
                        {"w", sample_uniform({2, 2, 5, 5}, 2)}})["out"];
  };
  for (const Value& v : images) {
    BOOST_TEST(run_image(v, 5, 6).numel() > 0);
    BOOST_CHECK_EXCEPTION(
        run_image(v, 4, 6), ShapeError,
        says("height: a kernel of size 5 with dilation 1 spans 5, but the padded input "
             "size is only 4 (padding 0)"));
    BOOST_CHECK_EXCEPTION(run_image(v, 7, 4), ShapeError, says("width: a kernel of size 5"));
    BOOST_CHECK_THROW(run_image(v, 7, 1), ShapeError);
    BOOST_CHECK_THROW(run_image(v, 0, 7), ShapeError);
  }
  const std::vector<Value> lines = {conv1d(line, w1, {}, {.stride = 2}),
                                    max_pool1d(line, {.kernel = 5, .stride = 2}),
                                    avg_pool1d(line, {.kernel = 5, .stride = 2})};
  for (const Value& v : lines) {
    const auto run = [&](std::int64_t length) {
      return session.run(Program("p").output("out", v),
                         {{"line", sample_uniform({1, 2, length}, 1)},
                          {"w1", sample_uniform({2, 2, 5}, 2)}})["out"];
    };
    BOOST_TEST(run(6).numel() == 2);
    BOOST_CHECK_EXCEPTION(run(4), ShapeError, says("the padded input size is only 4 (padding 0)"));
  }
}

BOOST_AUTO_TEST_CASE(the_maximum_of_a_symbolic_image_without_pixels_is_a_shape_error) {
  Graph g;
  const Value image = g.input("image", DType::f32, {1, 1, "height", "width"});
  const Size2d kernel{2, 2}, stride{1, 1}, padding{1, 1};
  const Value largest = max_pool2d(image, {.kernel = kernel, .stride = stride, .padding = padding});
  const Value mean = avg_pool2d(image, {.kernel = kernel, .stride = stride, .padding = padding});
  Session session(g, strict());
  for (const Sizes& sizes : {Sizes{1, 1, 0, 3}, Sizes{1, 1, 3, 0}, Sizes{1, 1, 0, 0}}) {
    const NamedTensors feeds{{"image", Tensor::zeros(DType::f32, sizes)}};
    BOOST_CHECK_EXCEPTION(session.run(Program("p").output("out", largest), feeds), ShapeError,
                          says("requires an image with at least one pixel"));
    // The mean over a window that covers only padding is 0.
    const Tensor zeros = session.run(Program("p").output("out", mean), feeds)["out"];
    BOOST_TEST(zeros.numel() > 0);
    for (std::int64_t i = 0; i < zeros.numel(); ++i) BOOST_TEST(zeros.at(i) == 0);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_rows_taken_from_an_empty_batch_are_empty) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 5, 3});
  const Value index = g.input("index", DType::i64, {"picked"});
  const Value dx = gradient(sum(square(take(x, index, 1))), x);
  Session session(g, strict());
  for (const std::int64_t batch : {0, 2}) {
    for (const std::int64_t picked : {0, 4, 70000}) {
      const Tensor out = session.run(Program("p").output("dx", dx),
                                     {{"x", sample_uniform({batch, 5, 3}, 1)},
                                      {"index", sample_indices({picked}, 2, 5)}})["dx"];
      BOOST_TEST((out.sizes() == Sizes{batch, 5, 3}));
    }
  }
}

// An axis of size 0 makes the scratch memory empty, regardless of the other sizes.
BOOST_AUTO_TEST_CASE(empty_results_need_no_scratch_memory) {
  constexpr std::int64_t kLong = std::int64_t{1} << 38;
  const auto& ops = *builtin_ops();
  const auto empty = [](Sizes sizes) { return Tensor::zeros(DType::f32, std::move(sizes)); };
  const auto out =
      evaluate_op(ops.at("attention"),
                  {empty({0, 1, kLong, 4}), empty({0, 1, kLong, 4}), empty({0, 1, kLong, 4})},
                  {{"scale", 1.0}});
  BOOST_TEST((out[0].sizes() == Sizes{0, 1, kLong, 4}));
  BOOST_TEST(
      (evaluate_op(ops.at("sort"), {empty({0, kLong})}, {{"axis", std::int64_t{1}}})[0].sizes() ==
       Sizes{0, kLong}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
