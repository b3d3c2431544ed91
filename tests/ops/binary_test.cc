// Elementwise ops with several operands, and the broadcasting plan.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/ops/broadcast_plan.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/elementwise.h"

namespace weft::testing {
namespace {

const double kInf = std::numeric_limits<double>::infinity();

Tensor apply_binary(const char* op, const std::vector<Tensor>& inputs) {
  return evaluate_op(builtin_ops()->at(op), inputs)[0];
}

/// Returns small integers (never 0 if `nonzero` is true), which every dtype and op represents
/// exactly.
Tensor numbers(DType dtype, const Sizes& sizes, int seed, bool nonzero = false) {
  Tensor t = Tensor::empty(DType::f64, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double v = static_cast<double>((i * 7 + seed * 3) % 5);
    t.mutable_data<double>()[i] = nonzero ? v + 1 : v;
  }
  return t.to(dtype);
}

double reference(const std::string& op, DType dtype, double a, double b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return is_integer(dtype) ? std::trunc(a / b) : a / b;
  if (op == "pow") return std::pow(a, b);
  if (op == "maximum") return std::max(a, b);
  if (op == "minimum") return std::min(a, b);
  if (op == "equal") return a == b;
  if (op == "not_equal") return a != b;
  if (op == "less") return a < b;
  if (op == "less_equal") return a <= b;
  if (op == "greater") return a > b;
  BOOST_REQUIRE_EQUAL(op, "greater_equal");
  return a >= b;
}

const std::vector<std::pair<Sizes, Sizes>> kSizes = {{{0}, {0}},
                                                     {{1}, {1}},
                                                     {{}, {}},
                                                     {{3}, {3}},
                                                     {{4}, {4}},
                                                     {{5}, {}},
                                                     {{}, {17}},
                                                     {{31}, {31}},
                                                     {{2, 3}, {3}},
                                                     {{2, 1}, {1, 19}},
                                                     {{4, 1, 3}, {2, 1}},
                                                     {{1, 5, 1}, {2, 1, 33}},
                                                     {{0, 3}, {1, 3}},
                                                     {{2, 3, 1, 5}, {3, 4, 1}},
                                                     {{7, 9}, {7, 1}}};

void check(const char* op, DType dtype) {
  for (const auto& [sa, sb] : kSizes) {
    const Tensor a = numbers(dtype, sa, 1), b = numbers(dtype, sb, 2, std::string(op) == "div");
    const Tensor out = apply_binary(op, {a, b});
    BOOST_REQUIRE(out.sizes() == broadcast_sizes(sa, sb));
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const double want = reference(op, dtype, a.at(broadcast_position(i, sa, out.sizes())),
                                    b.at(broadcast_position(i, sb, out.sizes())));
      const double rounded = dtype == DType::f32 ? static_cast<float>(want) : want;
      BOOST_REQUIRE_MESSAGE(out.at(i) == rounded, op << " " << out.type_str() << " at " << i << ": "
                                                     << out.at(i) << " instead of " << rounded);
    }
  }
}

template <class E>
void check_error(const char* op, const std::vector<Tensor>& inputs, const std::string& text) {
  BOOST_CHECK_EXCEPTION(apply_binary(op, inputs), E, [&](const Error& e) {
    BOOST_TEST_MESSAGE(e.what());
    return std::string(e.what()).find(text) != std::string::npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(binary)

BOOST_AUTO_TEST_CASE(arithmetic_broadcasts_in_every_dtype) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      for (const char* op : {"add", "sub", "mul", "div", "pow", "maximum", "minimum"}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::i8}) {
          if (std::string(op) == "pow" && dtype == DType::i8) continue;  // 4^4 wraps
          check(op, dtype);
        }
      }
      check("add", DType::u8);
      check("maximum", DType::u8);
    }
  });
}

BOOST_AUTO_TEST_CASE(comparisons_accept_every_dtype) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      for (const char* op :
           {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64,
                                  DType::i32, DType::i8, DType::u8, DType::boolean}) {
          check(op, dtype);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(nan_propagates_through_minimum_and_maximum_and_compares_false) {
  for_each_simd_target([](const char*) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor a = Tensor::of<double>({5}, {NAN, 1, NAN, kInf, -kInf}).to(dtype);
      const Tensor b = Tensor::of<double>({5}, {1, NAN, NAN, 2, 2}).to(dtype);
      const Tensor high = apply_binary("maximum", {a, b}), low = apply_binary("minimum", {a, b});
      for (int i = 0; i < 3; ++i) BOOST_TEST((std::isnan(high.at(i)) && std::isnan(low.at(i))));
      BOOST_TEST(high.at(3) == kInf);
      BOOST_TEST(high.at(4) == 2);
      BOOST_TEST(low.at(3) == 2);
      BOOST_TEST(low.at(4) == -kInf);
      for (const char* op : {"equal", "less", "less_equal", "greater", "greater_equal"}) {
        for (int i = 0; i < 3; ++i) BOOST_TEST(apply_binary(op, {a, b}).at(i) == 0);
      }
      for (int i = 0; i < 3; ++i) BOOST_TEST(apply_binary("not_equal", {a, b}).at(i) == 1);
    }
  });
}

BOOST_AUTO_TEST_CASE(pow_handles_special_values) {
  const Tensor a = Tensor::of<float>({6}, {0, 0, -2, -2, 2, -8});
  const Tensor b = Tensor::of<float>({6}, {0, -1, 3, -1, 0.5f, 1.0f / 3});
  const Tensor out = apply_binary("pow", {a, b});
  BOOST_TEST(out.at(0) == 1);
  BOOST_TEST(out.at(1) == kInf);
  BOOST_TEST(out.at(2) == -8);
  BOOST_TEST(out.at(3) == -0.5);
  BOOST_TEST(out.at(4) == static_cast<float>(std::sqrt(2.0)));
  BOOST_TEST(std::isnan(out.at(5)));
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  const Tensor lowest = Tensor::scalar(DType::i32, kLowest), minus = Tensor::scalar(DType::i32, -1);
  BOOST_TEST(apply_binary("div", {lowest, minus}).item<std::int32_t>() == kLowest);
  BOOST_TEST(apply_binary("add", {lowest, minus}).item<std::int32_t>() == -(kLowest + 1));
  BOOST_TEST(apply_binary("mul", {lowest, minus}).item<std::int32_t>() == kLowest);
  const Tensor seven = Tensor::of<std::int64_t>({2}, {7, -7});
  BOOST_TEST(
      (apply_binary("div", {seven, Tensor::scalar(DType::i64, 2)}).to_vector<std::int64_t>() ==
       std::vector<std::int64_t>{3, -3}));
}

BOOST_AUTO_TEST_CASE(logical_ops_match_their_truth_tables) {
  for_each_simd_target([](const char*) {
    const Tensor a = Tensor::of<bool>({2, 1}, {false, true});
    const Tensor b = Tensor::of<bool>({2}, {false, true});
    const auto values = [&](const char* op) { return apply_binary(op, {a, b}).to_vector<bool>(); };
    BOOST_TEST((values("logical_and") == std::vector<bool>{false, false, false, true}));
    BOOST_TEST((values("logical_or") == std::vector<bool>{false, true, true, true}));
    BOOST_TEST((values("logical_xor") == std::vector<bool>{false, true, true, false}));
  });
}

BOOST_AUTO_TEST_CASE(where_supports_every_dtype) {
  const std::vector<Sizes> sizes = {{}, {1}, {7}, {3, 1}, {3, 7}, {2, 1, 7}, {2, 3, 1}};
  for_each_simd_target([&](const char*) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::u8, DType::boolean}) {
      for (const Sizes& sc : sizes) {
        for (const Sizes& sa : sizes) {
          for (const Sizes& sb : sizes) {
            const Tensor c = numbers(DType::f64, sc, 2).to(DType::boolean);
            const Tensor a = numbers(dtype, sa, 1), b = numbers(dtype, sb, 3);
            const Tensor out = apply_binary("where", {c, a, b});
            const Sizes& so = out.sizes();
            for (std::int64_t i = 0; i < out.numel(); ++i) {
              const double want = c.at(broadcast_position(i, sc, so)) != 0
                                      ? a.at(broadcast_position(i, sa, so))
                                      : b.at(broadcast_position(i, sb, so));
              if (out.at(i) != want) BOOST_ERROR("where " << out.type_str() << " at " << i);
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(chunks_may_begin_inside_rows) {
  // The size is 3 x 20011, so chunks begin in the middle of rows.
  const Tensor a = numbers(DType::f32, {3, 20011}, 1), b = numbers(DType::f32, {3, 1}, 4);
  const Tensor out = apply_binary("sub", {a, b});
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    if (out.at(i) != a.at(i) - b.at(i / 20011)) BOOST_ERROR("element " << i);
  }
}

BOOST_AUTO_TEST_CASE(the_broadcasting_plan_merges_axes) {
  const BroadcastPlan same({2, 1, 3, 4}, {{2, 1, 3, 4}, {2, 1, 3, 4}});
  BOOST_TEST((same.sizes() == Sizes{24}));
  BOOST_TEST(same.step(0) == 1);
  const BroadcastPlan bias({8, 5, 6}, {{8, 5, 6}, {6}});
  BOOST_TEST((bias.sizes() == Sizes{40, 6}));
  BOOST_TEST((bias.strides(0) == Sizes{6, 1}));
  BOOST_TEST((bias.strides(1) == Sizes{0, 1}));
  const BroadcastPlan row({8, 5, 6}, {{8, 5, 6}, {8, 1, 1}});
  BOOST_TEST((row.sizes() == Sizes{8, 30}));
  BOOST_TEST(row.step(1) == 0);
  const BroadcastPlan scalar({}, {{}, {}});
  BOOST_TEST((scalar.sizes() == Sizes{1}));
  BOOST_TEST(scalar.numel() == 1);
  const BroadcastPlan empty({0, 3}, {{0, 3}, {3}});
  BOOST_TEST(empty.numel() == 0);
  empty.for_rows(0, 0, [](auto...) { BOOST_ERROR("an empty plan must not have rows"); });

  std::vector<std::int64_t> counts;
  bias.for_rows(4, 15, [&](std::int64_t, const std::int64_t* from, std::int64_t count) {
    counts.push_back(count);
    BOOST_TEST(from[1] == (counts.size() == 1 ? 4 : 0));
  });
  BOOST_TEST(counts == (std::vector<std::int64_t>{2, 6, 3}));
  BOOST_CHECK_EXCEPTION(BroadcastPlan({2, 3}, {{2}}), ShapeError, [](const Error& e) {
    return std::string(e.what()) == "[2] does not broadcast to [2, 3]: sizes must be equal or 1";
  });
}

BOOST_AUTO_TEST_CASE(invalid_operands_are_rejected) {
  const Tensor ints = Tensor::of<std::int32_t>({2, 2}, {1, 2, 3, 0});
  check_error<DataError>("div", {ints, ints}, "integer division by zero: b[1, 1] is 0");
  check_error<DataError>("pow", {ints, Tensor::of<std::int32_t>({2}, {1, -1})},
                         "negative power of an integer: b[1] must not be negative");
  // No division takes place if the result has no elements, so a zero divisor is not an error.
  BOOST_TEST(apply_binary("div", {Tensor::zeros(DType::i32, {0}), Tensor::zeros(DType::i32, {1})})
                 .numel() == 0);
  check_error<ShapeError>("add",
                          {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::f32, {4})},
                          "shapes [2, 3] and [4] do not broadcast");
  check_error<DTypeError>("add", {Tensor::zeros(DType::f32, {2}), Tensor::zeros(DType::f64, {2})},
                          "f32 and f64, and there is no implicit promotion");
  check_error<DTypeError>("mul",
                          {Tensor::zeros(DType::boolean, {2}), Tensor::zeros(DType::boolean, {2})},
                          "a must be f32, f64 or an integer, but is bool");
  check_error<DTypeError>("logical_and", {ints, ints}, "a must be bool, but is i32");
  check_error<DTypeError>("where", {ints, ints, ints}, "c must be bool, but is i32");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
