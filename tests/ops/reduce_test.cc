#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/reduce.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

using List = std::vector<std::int64_t>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor reduce(std::string_view op, const Tensor& x, const List& axes, bool keepdims = false) {
  return evaluate_op(builtin_ops()->at(op), {x}, {{"axes", axes}, {"keepdims", keepdims}})[0];
}

void check_against_reference(std::string_view op, const Tensor& x, const List& axes) {
  const Tensor out = reduce(op, x, axes);
  const auto wanted = reduce_reference(op, x, axes);
  BOOST_REQUIRE(out.numel() == static_cast<std::int64_t>(wanted.size()));
  const double tolerance = x.dtype() == DType::f32 ? 5e-6 : 1e-13;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double got = out.at(static_cast<std::int64_t>(i));
    const double scale = std::max(1.0, std::abs(wanted[i]));
    BOOST_TEST(std::abs(got - wanted[i]) <= tolerance * scale, op << " of " << x.type_str()
                                                                  << " at " << i << ": " << got
                                                                  << " instead of " << wanted[i]);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reduce_ops)

BOOST_AUTO_TEST_CASE(floating_point_reductions_match_the_scalar_model_on_every_simd_target) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      for (const std::string_view op : {"sum", "mean", "max", "min", "prod", "logsumexp"}) {
        for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 61, 67, 131, 257}) {
          const double low = op == "prod" ? 0.9 : -2, high = op == "prod" ? 1.1 : 2;
          for (const DType dtype : {DType::f32, DType::f64}) {
            check_against_reference(op, sample_uniform({3, n}, 1, low, high).to(dtype), {1});
            check_against_reference(op, sample_uniform({n, 3}, 2, low, high).to(dtype), {0});
            check_against_reference(op, sample_uniform({5, n}, 3, low, high).to(dtype), {0});
            check_against_reference(op, sample_uniform({70, n}, 3, low, high).to(dtype), {0});
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(reductions_support_any_axes) {
  const Tensor x = sample_uniform({3, 1, 4, 2, 5}, 7);
  for (const List& axes : {List{}, List{0}, List{1}, List{4}, List{0, 1}, List{0, 2}, List{0, 4},
                           List{1, 3}, List{0, 2, 4}, List{1, 2, 3}, List{0, 1, 2, 3, 4}}) {
    for (const std::string_view op : {"sum", "mean", "max", "logsumexp"}) {
      check_against_reference(op, x, axes);
    }
  }
  BOOST_TEST(reduce("sum", x, {0, 2}, true).sizes() == (Sizes{1, 1, 1, 2, 5}));
  BOOST_TEST(reduce("sum", x, {0, 2}).sizes() == (Sizes{1, 2, 5}));
}

BOOST_AUTO_TEST_CASE(long_reductions_are_split_and_stay_accurate) {
  for (const Sizes& sizes : {Sizes{400003}, Sizes{2, 200003}, Sizes{100003, 3}, Sizes{3001, 130}}) {
    const Tensor x = sample_uniform(sizes, 11, 0, 1);
    const std::int64_t axis = sizes.size() == 1 || sizes[0] < sizes[1] ? sizes.size() - 1 : 0;
    for (const std::string_view op : {"sum", "mean", "max", "logsumexp"}) {
      check_against_reference(op, x, {axis});
    }
  }
  check_against_reference("sum", sample_uniform({7, 300, 211}, 12, 0, 1), {0, 2});
}

BOOST_AUTO_TEST_CASE(reductions_support_integers_and_bools) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u8}) {
    const Tensor x = sample_indices({3, 5, 2}, 3, 4).to(dtype);
    for (const std::string_view op : {"sum", "max", "min", "prod"}) {
      if (op == "prod" && dtype_size(dtype) == 1) continue;  // may wrap around
      check_against_reference(op, x, {1});
      check_against_reference(op, x, {0, 2});
    }
  }
  const Tensor b = sample_indices({4, 6}, 3, 3).to(DType::boolean);
  for (const std::string_view op : {"any", "all"}) {
    check_against_reference(op, b, {0});
    check_against_reference(op, b, {1});
  }
  const Tensor u = Tensor::of<std::uint8_t>({3}, {200, 100, 1});
  BOOST_TEST(reduce("sum", u, {0}).at(0) == 45);  // wraps around
}

BOOST_AUTO_TEST_CASE(reductions_handle_empty_ranges) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = Tensor::empty(dtype, {2, 0, 3});
    BOOST_TEST(reduce("sum", x, {1}).at(5) == 0);
    BOOST_TEST(reduce("prod", x, {0, 1}).at(2) == 1);
    BOOST_TEST(std::isnan(reduce("mean", x, {1, 2}).at(0)));
    BOOST_TEST(reduce("logsumexp", x, {1}).at(0) == -kInfinity);
    BOOST_TEST(reduce("sum", x, {0}).numel() == 0);
  }
  const auto names_axis = says("axis 1 has size 0: an empty range has no max");
  BOOST_CHECK_EXCEPTION(reduce("max", Tensor::empty(DType::f32, {2, 0}), {1}), ShapeError,
                        names_axis);
  KernelRequest request{{{DType::f32, {2, 0}}}, {{DType::f32, {2}}}, {{"axes", List{1}}}};
  BOOST_CHECK_EXCEPTION(builtin_ops()->at("max").kernel(request), ShapeError, names_axis);
}

// With the results of a first stage in memory, this would need 2^33 elements.
BOOST_AUTO_TEST_CASE(reductions_over_an_empty_axis_have_no_intermediate_results) {
  const Tensor x = Tensor::empty(DType::u8, {2, (std::int64_t{1} << 31) + 3, 2, 0});
  for (const char* op : {"sum", "prod"}) {
    const Tensor y = reduce(op, x, {1, 3}, true);
    BOOST_TEST((y.sizes() == Sizes{2, 1, 2, 1}));
    for (int i = 0; i < 4; ++i) BOOST_TEST(y.at(i) == (op == std::string("prod") ? 1 : 0));
  }
}

BOOST_AUTO_TEST_CASE(reductions_handle_nans_and_infinities) {
  for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      for (const std::int64_t n : {1, 3, 17, 40}) {
        for (std::int64_t at = 0; at < n; ++at) {
          for (const Sizes& sizes : {Sizes{1, n}, Sizes{n, 1}, Sizes{n, 20}}) {
            Tensor x = Tensor::full(DType::f32, sizes, 1);
            const std::int64_t axis = sizes[0] == 1 ? 1 : 0;
            x.mutable_data<float>()[at * (axis == 1 ? 1 : sizes[1])] = static_cast<float>(kNaN);
            for (const std::string_view op : {"max", "min", "sum", "logsumexp"}) {
              BOOST_TEST(std::isnan(reduce(op, x, {axis}).at(0)),
                         op << " does not propagate the NaN");
            }
          }
        }
      }
      for (const Sizes& sizes : {Sizes{1, 9}, Sizes{9, 1}, Sizes{9, 40}}) {
        const std::int64_t axis = sizes[0] == 1 ? 1 : 0;
        const auto lse = [&](double v) {
          return reduce("logsumexp", Tensor::full(DType::f32, sizes, v), {axis}).at(0);
        };
        BOOST_TEST(lse(-kInfinity) == -kInfinity);
        BOOST_TEST(lse(kInfinity) == kInfinity);
        BOOST_TEST(std::abs(lse(1000) - (1000 + std::log(9.0))) < 1e-3);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(argmax_and_argmin_return_the_positions_of_extremes) {
  const Tensor x = Tensor::of<float>({2, 4}, {1, 3, 3, 0, 5, NAN, 7, NAN});
  const auto arg = [&](std::string_view op, std::int64_t axis) {
    return evaluate_op(builtin_ops()->at(op), {x}, {{"axis", axis}})[0].to_vector<std::int64_t>();
  };
  BOOST_TEST(arg("argmax", 1) == (List{1, 1}));
  BOOST_TEST(arg("argmin", 1) == (List{3, 1}));
  BOOST_TEST(arg("argmax", 0) == (List{1, 1, 1, 1}));
  BOOST_TEST(arg("argmin", 0) == (List{0, 1, 0, 1}));
}

BOOST_AUTO_TEST_CASE(cumulative_sums_match_the_scalar_model) {
  const Tensor x = sample_uniform({2, 5, 300}, 5);
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const Tensor out = evaluate_op(
          builtin_ops()->at("cumsum"), {x},
          {{"axis", std::int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}})[0];
      for (std::int64_t k = 0; k < x.numel(); ++k) {
        const std::int64_t i = k / 300 % 5, first = k - i * 300;
        double wanted = 0;
        for (std::int64_t j = 0; j < 5; ++j) {
          const bool counts = reverse ? j > i : j < i;
          if (counts || (j == i && !exclusive)) wanted += x.at(first + j * 300);
        }
        BOOST_REQUIRE(std::abs(out.at(k) - wanted) < 1e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(reduction_functions_match_their_definitions) {
  Graph g;
  const Value x = g.input("x", DType::f64, {2, 3});
  const Feed feed{{x, Tensor::of<double>({2, 3}, {1, 2, 3, 4, 6, 8})}};
  const auto run = [&](const Value& v) { return evaluate_graph({v}, feed)[0]; };
  BOOST_TEST(run(sum(x)).item<double>() == 24);
  BOOST_TEST(run(sum(x, -1)).at(1) == 18);
  BOOST_TEST(sum(x, {0, -1}, true).shape().str() == "[1, 1]");
  BOOST_TEST(sum(x, std::vector<int>{}).shape().str() == "[2, 3]");
  BOOST_TEST(run(var(x, 1)).at(1) == 4);
  BOOST_TEST(run(stddev(x, 1, {.correction = 0})).at(0) == std::sqrt(2.0 / 3));
  BOOST_TEST(run(norm(x, 0)).at(1) == std::sqrt(40.0));
  BOOST_TEST(run(argmax(x)).item<std::int64_t>() == 5);
  BOOST_TEST(argmax(x, std::nullopt, true).shape().str() == "[1, 1]");
  BOOST_CHECK_EXCEPTION(sum(x, {0, 2}), ShapeError,
                        message_contains({"sum", "f64[2, 3]", "reduce_test.cc"}));
  BOOST_CHECK_EXCEPTION(sum(x, {0, -2}), ArgumentError, says("axis 0 is given twice"));
  const Value ids = g.input("ids", DType::i64, {3});
  BOOST_CHECK_EXCEPTION(mean(ids), DTypeError, says("cast(x, DType::f32)"));
  BOOST_TEST(mean(g.input("s", DType::f64, {"n", 2}), 0).shape().str() == "[2]");
}

BOOST_AUTO_TEST_CASE(product_gradients_are_correct_at_zeros) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4});
  const Value first = gradient(prod(x), x);
  // The gradient of the first gradient element.
  const Value second = gradient(sum(slice(first, 0, {0, 1})), x);
  for (const bool two_zeros : {false, true}) {
    const double b = two_zeros ? 0 : 3;
    const Feed feed{{x, Tensor::of<double>({4}, {0, b, 5, 7})}};
    const auto out = evaluate_graph({first, second}, feed);
    BOOST_TEST(out[0].to_vector<double>() == (std::vector<double>{b * 35, 0, 0, 0}));
    BOOST_TEST(out[1].to_vector<double>() == (std::vector<double>{0, 35, b * 7, b * 5}));
  }
}

BOOST_AUTO_TEST_CASE(product_gradients_support_a_symbolic_axis) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n"});
  const Feed feed{{x, Tensor::of<double>({3}, {2, 0, 5})}};
  const auto out = evaluate_graph({gradient(prod(x), x)}, feed);
  BOOST_TEST(out[0].to_vector<double>() == (std::vector<double>{0, 10, 0}));
}

BOOST_AUTO_TEST_CASE(ties_share_the_gradient_and_undefined_gradients_are_zero) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3});
  const Feed ties{{x, Tensor::of<double>({3}, {4, 1, 4})}};
  BOOST_TEST(evaluate_graph({gradient(max(x), x)}, ties)[0].to_vector<double>() ==
             (std::vector<double>{0.5, 0, 0.5}));
  const Feed nothing{{x, Tensor::full(DType::f64, {3}, -kInfinity)}};
  BOOST_TEST(evaluate_graph({gradient(logsumexp(x), x)}, nothing)[0].to_vector<double>() ==
             (std::vector<double>{0, 0, 0}));
  const Feed origin{{x, Tensor::zeros(DType::f64, {3})}};
  BOOST_TEST(evaluate_graph({gradient(norm(x), x)}, origin)[0].to_vector<double>() ==
             (std::vector<double>{0, 0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
