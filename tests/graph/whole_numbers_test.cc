// Conversion of numbers to integer dtypes. A value that the dtype cannot represent is an error,
// reported for the source line that requests the conversion. It is never rounded or saturated.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/text/text.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

std::string this_line(int line = __builtin_LINE()) {
  return "whole_numbers_test.cc:" + std::to_string(line);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(whole_numbers)

BOOST_AUTO_TEST_CASE(numbers_outside_an_integer_dtype_are_rejected) {
  Graph g;
  const double nan = std::nan("");
  BOOST_CHECK_EXCEPTION(
      full(g, DType::i8, {2}, 300), DTypeError,
      message_contains(
          {"the number 300 does not fit into i8, whose range is -128 to 127", this_line()}));
  BOOST_CHECK_EXCEPTION(
      full(g, DType::i32, {}, 0.5), DTypeError,
      message_contains({"0.5 cannot be stored as i32, which can only represent whole numbers from "
                        "-2147483648 to 2147483647; use a floating dtype",
                        this_line()}));
  BOOST_CHECK_EXCEPTION(g.scalar(DType::i64, nan), DTypeError,
                        message_contains({"nan does not fit into i64", this_line()}));
  BOOST_CHECK_EXCEPTION(g.scalar(DType::i64, 0x1p63), DTypeError,
                        message_contains({"does not fit into i64", this_line()}));
  BOOST_CHECK_EXCEPTION(
      full(g, DType::boolean, {3}, 2), DTypeError,
      message_contains({"2 does not fit into bool, whose range is 0 to 1", this_line()}));
  const Value bytes = g.input("bytes", DType::u8, {"n"});
  BOOST_CHECK_EXCEPTION(
      full_like(bytes, -1), DTypeError,
      message_contains({"-1 does not fit into u8, whose range is 0 to 255", this_line()}));
  BOOST_CHECK_EXCEPTION(
      pad(bytes, {{1, 0}}, {.value = 256}), DTypeError,
      message_contains({"pad: the number 256 does not fit into u8", "x: u8[n]", this_line()}));
  BOOST_CHECK_EXCEPTION(parse_text("weft text 1\n"
                                   "input %x: i8[3]\n"
                                   "%y = pad(%x) {before = [1], after = [0], value = 0.5} : i8[4]\n"
                                   "program p { output y = %y }"),
                        FormatError, message_contains({"0.5 cannot be stored as i8", "<text>:3"}));
  BOOST_CHECK_EXCEPTION(
      g.variable("steps", DType::i32, {}, {.initializer = Initializer::constant(1e10)}), DTypeError,
      message_contains({"variable 'steps', initial value: the number 10000000000", this_line()}));
  BOOST_TEST(!g.has_variable("steps"));
  // The full range of an integer dtype is accepted, and floats accept every number.
  const auto only = [&](Value v) { return evaluate_graph({v}, {})[0]; };
  BOOST_TEST(only(g.scalar(DType::i64, -0x1p63)).item<std::int64_t>() == INT64_MIN);
  BOOST_TEST(only(g.scalar(DType::i8, -128)).item<std::int8_t>() == -128);
  BOOST_TEST(only(g.scalar(DType::u8, 255)).item<std::uint8_t>() == 255);
  BOOST_TEST(only(full(g, DType::boolean, {}, 1)).item<bool>());
  BOOST_TEST(std::isnan(only(g.scalar(DType::f32, nan)).item<float>()));
  BOOST_TEST(std::isinf(only(g.scalar(DType::f16, 1e9)).at(0)));
}

BOOST_AUTO_TEST_CASE(integer_clamp_accepts_any_bounds) {
  const auto clamped = [](std::int8_t x, std::optional<double> lo, std::optional<double> hi) {
    Graph g;
    const Value in = g.input("x", DType::i8, {});
    return evaluate_graph({clamp(in, lo, hi)}, {{in, Tensor::of<std::int8_t>({}, {x})}})[0]
        .item<std::int8_t>();
  };
  BOOST_TEST(clamped(-5, -1.5, 300) == -1);  // a bound beyond the range of the dtype has no effect
  BOOST_TEST(clamped(100, -1e300, 99.5) == 99);
  BOOST_TEST(clamped(100, std::nullopt, std::nullopt) == 100);
  Graph g;
  const Value x = g.input("x", DType::i8, {});
  BOOST_CHECK_EXCEPTION(
      clamp(x, 300), DTypeError,
      message_contains(
          {"no i8 value (-128 to 127) is between lo = 300 and hi = inf", this_line()}));
  BOOST_CHECK_EXCEPTION(clamp(x, 0.2, 0.8), DTypeError,
                        message_contains({"is between lo = 0.2 and hi = 0.8", this_line()}));
}

BOOST_AUTO_TEST_CASE(indices_and_sizes_must_be_representable_in_their_dtype) {
  Graph g;
  BOOST_CHECK_EXCEPTION(
      arange(g, 300, DType::u8), ShapeError,
      message_contains(
          {"iota: the index 299 does not fit into u8, whose range is 0 to 255", this_line()}));
  const Dim n = g.dim("n");
  const Value x = g.input("x", DType::f32, {n});
  for (const auto& [v, what] : {std::pair(arange(g, n, DType::u8), "the index 256"),
                                std::pair(dim_value(g, n, DType::u8), "the size 257")}) {
    BOOST_TEST(
        evaluate_graph({cast(v, DType::f32) + sum(x)}, {{x, Tensor::zeros(DType::f32, {255})}})
            .size() == 1);
    BOOST_CHECK_EXCEPTION(
        evaluate_graph({cast(v, DType::f32) + sum(x)}, {{x, Tensor::zeros(DType::f32, {257})}}),
        ShapeError, message_contains({what, "does not fit into u8"}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
