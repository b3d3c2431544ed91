// matmul with vectors, linear layers, and functions for convolutions, pooling and random numbers.
#include <boost/test/unit_test.hpp>

#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/random/random.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
BOOST_AUTO_TEST_SUITE(linalg_functions)

BOOST_AUTO_TEST_CASE(matmul_treats_vectors_as_rows_and_columns) {
  Graph g;
  const Value m = g.input("m", DType::f32, {2, 3}), stack = g.input("s", DType::f32, {4, 2, 3});
  const Value v3 = g.input("v3", DType::f32, {3}), v2 = g.input("v2", DType::f32, {2});
  const Value mv = matmul(m, v3), vm = matmul(v2, m), vv = matmul(v3, v3);
  const auto out = evaluate_graph({mv, vm, vv, outer(v2, v3), dot(v3, v3)},
                                  {{m, Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                   {v3, Tensor::of<float>({3}, {1, 10, 100})},
                                   {v2, Tensor::of<float>({2}, {1, 10})}});
  BOOST_CHECK(out[0].to_vector<float>() == (std::vector<float>{321, 654}));
  BOOST_CHECK(out[1].to_vector<float>() == (std::vector<float>{41, 52, 63}));
  BOOST_CHECK(out[2].sizes().empty());
  BOOST_CHECK_EQUAL(out[2].item<float>(), 10101);
  BOOST_CHECK(out[3].to_vector<float>() == (std::vector<float>{1, 10, 100, 10, 100, 1000}));
  BOOST_CHECK_EQUAL(out[4].item<float>(), 10101);
  BOOST_CHECK_EQUAL(matmul(stack, v3).type().str(), "f32[4, 2]");
  BOOST_CHECK_EQUAL(matmul(v2, stack).type().str(), "f32[4, 3]");
  BOOST_CHECK_EQUAL(matmul(stack, v2, {.transpose_a = true}).type().str(), "f32[4, 3]");
  BOOST_CHECK_EQUAL(matmul(v3, m, {.transpose_b = true}).type().str(), "f32[2]");
  check_error<ShapeError>([&] { matmul(m, v2); },
                          {"matmul", "the summed axes of a (axis 1) and b (axis 0): 3 and 2 differ",
                           "f32[2, 3]", "linalg_functions_test.cc"});
  check_error<ShapeError>([&] { matmul(m, g.scalar(DType::f32, 2)); },
                          {"at least 1 axis: multiply by a scalar with *"});
  check_error<ArgumentError>([&] { matmul(m, 2); }, {"matmul: expected a tensor"});
  check_error<ShapeError>([&] { dot(m, v3); }, {"operands must have 1 axis, but one is f32[2, 3]"});
  check_error<ShapeError>([&] { outer(m, v3); }, {"operands must have 1 axis"});
}

BOOST_AUTO_TEST_CASE(linear_supports_both_layouts) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value w = g.input("w", DType::f32, {2, 3}), wt = g.input("wt", DType::f32, {3, 2});
  const Value b = g.input("b", DType::f32, {2});
  const auto out = evaluate_graph({linear(x, w, b), linear(x, wt, b, LinearLayout::in_out)},
                                  {{x, Tensor::of<float>({1, 3}, {1, 2, 3})},
                                   {w, Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                   {wt, Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6})},
                                   {b, Tensor::of<float>({2}, {100, 200})}});
  BOOST_CHECK(out[0].to_vector<float>() == (std::vector<float>{114, 232}));
  BOOST_CHECK(bitwise_equal(out[0], out[1]));
  check_error<ShapeError>([&] { linear(x, b); }, {"linear", "weight must have 2 axes"});
  check_error<ShapeError>([&] { linear(x, wt); },
                          {"3 and 2 differ", "linear", "linalg_functions_test.cc"});
}

BOOST_AUTO_TEST_CASE(one_dimensional_windows_match_images_of_height_one) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 3, 11}), w = g.input("w", DType::f32, {5, 3, 3});
  const Value b = g.input("b", DType::f32, {5});
  const Value y = conv1d(x, w, b, {.stride = 2, .padding = 1});
  BOOST_CHECK_EQUAL(y.type().str(), "f32[2, 5, 6]");
  BOOST_CHECK_EQUAL(max_pool1d(x, {.kernel = 2}).type().str(), "f32[2, 3, 5]");
  BOOST_CHECK_EQUAL(avg_pool1d(x, {.kernel = 3, .stride = 1, .padding = 1}).type().str(),
                    "f32[2, 3, 11]");
  const Value image = g.input("image", DType::f32, {"batch", 3, "height", 8});
  const Value kernel = g.input("kernel", DType::f32, {4, 3, 3, 3});
  BOOST_CHECK_EQUAL(conv2d(image, kernel, {}, {.padding = {1, 1}}).type().str(),
                    "f32[batch, 4, height, 8]");
  check_error<ShapeError>([&] { conv1d(image, w); },
                          {"conv1d", "x [N, C, L] must have 3 axes", "linalg_functions_test.cc"});
  check_error<ShapeError>([&] { conv1d(x, w, x); }, {"conv1d", "bias must have 1 axis, [O]"});
  check_error<ShapeError>([&] { max_pool1d(image, {.kernel = 2}); }, {"max_pool1d"});
}

BOOST_AUTO_TEST_CASE(every_random_op_has_its_own_stream) {
  Graph g;
  const Value key = g.key("test");
  const Value u = uniform(key, {Dim(1000)}, 2, 5), z = normal(key, {Dim(1000)}, -1, 0.5);
  const Value again = uniform(key, {Dim(1000)}, 2, 5), coin = bernoulli(key, {Dim(1000)}, 0.5);
  const Value x = g.input("x", DType::f32, {1000});
  const Value dropped = dropout(x, 0.25, key), other = dropout(x, 0.25, fold_key(key, 3));
  BOOST_CHECK(dropout(x, 0, key) == x);
  const auto out = evaluate_graph(
      {u, z, again, coin, dropped, other, advance_key(key)},
      {{key, Tensor::of<std::int64_t>({2}, {42, 0})}, {x, Tensor::full(DType::f32, {1000}, 3)}});
  for (int i = 0; i < 1000; ++i) {
    BOOST_REQUIRE(out[0].at(i) >= 2 && out[0].at(i) < 5);
    BOOST_REQUIRE(out[4].at(i) == 0 || out[4].at(i) == 4);
  }
  BOOST_CHECK(!bitwise_equal(out[0], out[2]));
  BOOST_CHECK(!bitwise_equal(out[4], out[5]));
  BOOST_CHECK(out[6].to_vector<std::int64_t>() == (std::vector<std::int64_t>{42, 1}));
  check_error<ArgumentError>(
      [&] { dropout(x, 1.0, key); },
      {"dropout", "rate must be in [0, 1), but is 1", "f32[1000]", "linalg_functions_test.cc"});
  check_error<DTypeError>([&] { uniform(x, {Dim(3)}); }, {"the key {seed, runs} must be i64"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
