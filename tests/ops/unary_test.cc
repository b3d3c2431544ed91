// Elementwise ops with one operand.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/ops/kernels/elementwise/unary.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/elementwise.h"

namespace weft::testing {
namespace {

const float kInfinite = std::numeric_limits<float>::infinity();

Tensor apply(const char* op, const Tensor& x, const Attributes& attributes = {}) {
  return evaluate_op(builtin_ops()->at(op), {x}, attributes)[0];
}

bool contains(const Error& error, const std::string& text) {
  if (std::string(error.what()).find(text) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("the message is: " << error.what());
  return false;
}

template <class T>
void check_exact(const char* op) {
  const auto oracle = unary_oracle(op);
  for (const std::int64_t n : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 97, 1009}) {
    std::vector<T> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(T(0.5) * T((i * 7) % 41) - T(9.75));
    if (n > 12) {
      const T special[] = {T(0),
                           T(-0.0),
                           T(kInfinite),
                           T(-kInfinite),
                           T(NAN),
                           T(0.5),
                           T(1.5),
                           T(-0.5),
                           T(1e30),
                           T(-1e30),
                           std::numeric_limits<T>::denorm_min(),
                           T(8388609)};
      std::memcpy(x.data(), special, sizeof(special));
    }
    const Tensor out = apply(op, Tensor::of<T>({n}, x));
    for (std::int64_t i = 0; i < n; ++i) {
      const T v = x[static_cast<std::size_t>(i)], got = out.data<T>()[i];
      BOOST_TEST(ulp_distance(got, oracle(v)) <= 1.5, op << " of " << v << " is " << got);
    }
  }
}

template <class T>
std::vector<T> integers(const char* op, std::vector<T> x) {
  return apply(op, Tensor::of<T>({static_cast<std::int64_t>(x.size())}, x)).template to_vector<T>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(unary)

BOOST_AUTO_TEST_CASE(exact_ops_match_plain_loops_bit_for_bit_on_every_simd_target) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT("target " << target) {
      for (const char* op : {"neg", "abs", "sign", "square", "sqrt", "rsqrt", "reciprocal", "floor",
                             "ceil", "round", "relu"}) {
        check_exact<float>(op);
        check_exact<double>(op);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(integers_wrap_around) {
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  for_each_simd_target([&](const char*) {
    BOOST_TEST((integers<std::int32_t>("neg", {3, 0, kLowest}) ==
                std::vector<std::int32_t>{-3, 0, kLowest}));
    BOOST_TEST((integers<std::int32_t>("abs", {-3, 0, kLowest}) ==
                std::vector<std::int32_t>{3, 0, kLowest}));
    BOOST_TEST((integers<std::int64_t>("sign", {-3, 0, 7}) == std::vector<std::int64_t>{-1, 0, 1}));
    BOOST_CHECK(
        (integers<std::uint8_t>("square", {3, 16, 17}) == std::vector<std::uint8_t>{9, 0, 33}));
    BOOST_CHECK((integers<std::uint8_t>("neg", {1, 0}) == std::vector<std::uint8_t>{255, 0}));
    BOOST_CHECK((integers<std::int8_t>("square", {-3, 12}) ==
                 std::vector<std::int8_t>{9, static_cast<std::int8_t>(144 - 256)}));
  });
}

BOOST_AUTO_TEST_CASE(clamp_bounds_numbers_and_preserves_nans) {
  for_each_simd_target([&](const char*) {
    const Attributes both = {{"lo", -1.0}, {"hi", 2.0}};
    const auto out = apply("clamp", Tensor::of<float>({5}, {-kInfinite, -1, 0.5f, 3, NAN}), both);
    BOOST_TEST(out.at(0) == -1);
    BOOST_TEST(out.at(1) == -1);
    BOOST_TEST(out.at(2) == 0.5);
    BOOST_TEST(out.at(3) == 2);
    BOOST_TEST(std::isnan(out.at(4)));
    const auto one_sided = apply("clamp", Tensor::of<double>({2}, {-5, kInfinite}), {{"lo", 0.0}});
    BOOST_TEST(one_sided.at(0) == 0);
    BOOST_TEST(one_sided.at(1) == kInfinite);
    const auto ints =
        apply("clamp", Tensor::of<std::int32_t>({4}, {-9, 0, 1, 9}), {{"lo", -1.5}, {"hi", 1.5}});
    BOOST_TEST((ints.to_vector<std::int32_t>() == std::vector<std::int32_t>{-1, 0, 1, 1}));
    const auto bytes = apply("clamp", Tensor::of<std::uint8_t>({2}, {0, 255}), {{"lo", 7.0}});
    BOOST_TEST(bytes.at(0) == 7);
    BOOST_TEST(bytes.at(1) == 255);
  });
}

BOOST_AUTO_TEST_CASE(isfinite_and_logical_not_give_the_expected_values) {
  for_each_simd_target([&](const char*) {
    std::vector<float> x(37, 1e38f);
    x[3] = kInfinite, x[20] = -kInfinite, x[36] = NAN;
    const Tensor out = apply("isfinite", Tensor::of<float>({37}, x));
    for (int i = 0; i < 37; ++i) BOOST_TEST(out.at(i) == (i != 3 && i != 20 && i != 36));
    const Tensor negated = apply("logical_not", out);
    for (int i = 0; i < 37; ++i) BOOST_TEST(negated.at(i) == 1 - out.at(i));
  });
}

void run_row(RowKernel::Function function, const float* in, float* out, std::int64_t n) {
  RowKernel row;
  row.function = function;
  const void* const operands[] = {in};
  row(operands, out, n, 0);
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_start_position_of_a_row) {
  std::vector<float> x;
  for (int i = 0; i < 67; ++i) x.push_back(0.173f * static_cast<float>(i) - 5.2f);
  for_each_simd_target([&](const char* target) {
    const auto check = [&](auto row) {
      std::vector<float> whole(x.size());
      row(x.data(), whole.data(), 67);
      for (std::int64_t begin = 0; begin < 67; begin += 5) {
        for (const std::int64_t count : {1, 2, 7}) {
          if (begin + count > 67) continue;
          float part[8] = {0, 0, 0, 0, 0, 0, 0, 42};
          row(x.data() + begin, part, count);
          BOOST_TEST(std::memcmp(part, whole.data() + begin,
                                 static_cast<std::size_t>(count) * sizeof(float)) == 0,
                     target << " " << begin << "+" << count);
          BOOST_TEST(part[7] == 42);
        }
      }
    };
    for (const auto op : {"exp", "erf", "tanh", "sin", "gelu_erf", "rsqrt"}) {
      check([op](const float* in, float* out, std::int64_t n) {
        run_row(kernels::unary_row(op, DType::f32), in, out, n);
      });
    }
  });
}

BOOST_AUTO_TEST_CASE(only_large_tensors_are_split_into_chunks) {
  const OpRecord& exp = builtin_ops()->at("exp");
  const auto chunks = [&](std::int64_t n) {
    const OperandSpec spec{DType::f32, {n}};
    return exp.kernel({{spec}, {spec}, {}}).phases.at(0).chunks;
  };
  BOOST_TEST(chunks(0) == 1);
  BOOST_TEST(chunks(16384) == 1);
  BOOST_TEST(chunks(100000) == 7);
  BOOST_TEST(chunks(std::int64_t{1} << 30) == 1024);
  const Tensor big = apply("neg", Tensor::full(DType::f32, {50001}, 3));
  for (const float v : big.span<float>()) BOOST_REQUIRE(v == -3);
}

BOOST_AUTO_TEST_CASE(in_place_execution_gives_the_same_bits) {
  std::vector<float> x = {1, 4, 9, 16, 25};
  run_row(kernels::unary_row("sqrt", DType::f32), x.data(), x.data(), 5);
  BOOST_TEST(x == (std::vector<float>{1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(invalid_operands_are_rejected) {
  BOOST_CHECK_EXCEPTION(
      apply("exp", Tensor::zeros(DType::i32, {2})), DTypeError, [](const Error& e) {
        return contains(e, "x must be f32 or f64, but is i32; convert it with cast()");
      });
  BOOST_CHECK_EXCEPTION(
      apply("neg", Tensor::zeros(DType::boolean, {2})), DTypeError,
      [](const Error& e) { return contains(e, "x must be f32, f64 or an integer, but is bool"); });
  BOOST_CHECK_EXCEPTION(
      apply("clamp", Tensor::zeros(DType::f32, {2}), {{"lo", 3.0}, {"hi", 1.0}}), ArgumentError,
      [](const Error& e) { return contains(e, "lo must be at most hi, but lo is 3 and hi is 1"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
