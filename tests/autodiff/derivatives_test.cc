// Jacobian-vector and vector-Jacobian products, Jacobians and Hessians.
#include "weft/autodiff/derivatives.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/plan/plan.h"
#include "weft/tests/autodiff/evaluate.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;
using testing::evaluate;
using testing::kPoint;

void check_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  BOOST_REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST(std::abs(found[i] - wanted[i]) < 1e-12);
}

const double kX[] = {0.5, -1, 2};

BOOST_AUTO_TEST_SUITE(derivatives)

// y_i = x_i^2 x_(i+1), so J = diag(2 x_i x_(i+1)) + x_i^2 at (i, i + 1), cyclic.
BOOST_AUTO_TEST_CASE(products_match_a_known_jacobian) {
  for (const bool symbolic : {false, true}) {
    Graph g;
    const Value x = symbolic ? g.input("x", DType::f64, {"n"}) : g.input("x", DType::f64, {3});
    const Value next = take(x, g.input("next", DType::i64, {symbolic ? g.dim("n") : Dim(3)}));
    const Value y = square(x) * next;
    const Value v = g.input("v", DType::f64, {symbolic ? g.dim("n") : Dim(3)});
    const NamedTensors feeds = {{"x", kPoint},
                                {"next", Tensor::of<std::int64_t>({3}, {1, 2, 0})},
                                {"v", Tensor::of<double>({3}, {1, -2, 3})}};
    const double d[] = {1, -2, 3};
    std::vector<double> j(9), forward(3), back(3);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t k = (i + 1) % 3;
      j[i * 3 + i] = 2 * kX[i] * kX[k];
      j[i * 3 + k] = kX[i] * kX[i];
    }
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 3; ++c) {
        forward[r] += j[r * 3 + c] * d[c];
        back[c] += j[r * 3 + c] * d[r];
      }
    }
    check_near(evaluate(g, jacobian(y, x), feeds), j);
    check_near(evaluate(g, jvp(y, {x}, {v}), feeds), forward);
    check_near(evaluate(g, vjp(y, {x}, v)[0], feeds), back);
    // The Jacobian of a matrix with respect to a vector, and of a scalar.
    const Value outer = unsqueeze(x, 1) * unsqueeze(x, 0);
    const Value by_outer = jacobian(outer, x);
    BOOST_TEST(by_outer.rank() == 3);
    std::vector<double> wanted;
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < 3; ++i) {
          wanted.push_back((i == r ? kX[c] : 0) + (i == c ? kX[r] : 0));
        }
      }
    }
    check_near(evaluate(g, by_outer, feeds), wanted);
    check_near(evaluate(g, jacobian(sum(square(x)), x), feeds), {1, -2, 4});
  }
}

// f = sum x_i^3 + x_0 x_1.
BOOST_AUTO_TEST_CASE(second_derivatives_match_known_values) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), v = g.input("v", DType::f64, {3});
  const Value f = sum(x * x * x) + sum(slice(x, 0, {.begin = Dim(0), .end = Dim(1)}) *
                                       slice(x, 0, {.begin = Dim(1), .end = Dim(2)}));
  const NamedTensors feeds = {{"x", kPoint}, {"v", Tensor::of<double>({3}, {1, -2, 3})}};
  check_near(evaluate(g, hessian(f, x), feeds), {3, 1, 0, 1, -6, 0, 0, 0, 12});
  check_near(evaluate(g, hessian_vector_product(f, {x}, {v})[0], feeds), {1, 13, 36});
  // Forward over reverse gives the same product.
  check_near(evaluate(g, jvp(gradient(f, x), {x}, {v}), feeds), {1, 13, 36});
  // The second derivatives of a linear function are 0.
  check_near(evaluate(g, hessian_vector_product(sum(x * 2), {x}, {v})[0], feeds), {0, 0, 0});
  const Value n = g.input("n", DType::f64, {"n"});
  for (const Value& linear : {sum(n * 2), sum(relu(n)), sum(abs(n) * 3) + sum(v)}) {
    check_near(evaluate(g, hessian(linear, n), {{"n", kPoint}, {"v", kPoint}}),
               std::vector<double>(9, 0));
  }
}

BOOST_AUTO_TEST_CASE(jacobians_can_be_taken_with_respect_to_intermediate_values) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), a = g.input("a", DType::f64, {3});
  const Value h = exp(x), y = h * a + x;  // y as a function of h
  check_near(evaluate(g, jacobian(y, h), {{"x", kPoint}, {"a", kPoint}}),
             {0.5, 0, 0, 0, -1, 0, 0, 0, 2});
  // The Jacobian of a Jacobian.
  const Value twice = jacobian(jacobian(square(x) * x, x), x);
  const std::vector<double> third = evaluate(g, twice, {{"x", kPoint}});
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::abs(third[i * 13] - 6 * kX[i]) < 1e-12);
}

// All rows are derivatives of the same output, so they must use the same random numbers.
BOOST_AUTO_TEST_CASE(all_rows_of_a_jacobian_of_dropout_use_the_same_mask) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n"}), key = g.key("drops");
  const Value q = reshape(x, Shape{Dim(1), Dim(1), g.dim("n"), Dim(1)});
  const Value y = dropout(x, 0.5, key);
  const Value z = attention(q, q, q, {.dropout = 0.5, .key = key});
  Session session(g, {.seed = 1, .threads = 1});
  const Results r = session.run(Program("p")
                                    .output("y", y)
                                    .output("jacobian", jacobian(y, x))
                                    .output("z", jacobian(z, x))
                                    .output("sums", gradient(sum(z), x)),
                                {{"x", Tensor::full(DType::f64, {16}, 1)}});
  for (std::int64_t i = 0; i < 16; ++i) {
    double column = 0;
    for (std::int64_t k = 0; k < 16; ++k) {
      BOOST_TEST(r["jacobian"].at(i * 16 + k) == (i == k ? r["y"].at(i) : 0));
      column += r["z"].at(k * 16 + i);
    }
    BOOST_TEST(std::abs(column - r["sums"].at(i)) < 1e-12);
  }
}

// Apart from the result, the memory of the loop is proportional to the size of one gradient, not to
// the square of the number of elements.
BOOST_AUTO_TEST_CASE(a_jacobian_needs_only_the_memory_of_one_gradient) {
  constexpr std::int64_t kElements = 4096;
  Graph g;
  const Value x = g.input("x", DType::f32, {});
  const Value y = exp(cast(arange(g, Dim(kElements)), DType::f32) * x);
  Session session(g, {.threads = 1});
  const Program program = Program("p").output("j", jacobian(y, x));
  const Tensor j = session.run(program, {{"x", Tensor::scalar(DType::f32, -0.5)}})["j"];
  BOOST_TEST(std::abs(j.at(2) - 2 * std::exp(-1.0)) < 1e-6);
  const MemoryReport memory = session.plan(program, {{"x", {}}})->memory();
  BOOST_TEST(memory.arena + memory.constants < 64 * kElements * sizeof(float));
}

// If the direction is the gradient g, the product is H g. The dependence of g on x must not be
// differentiated.
BOOST_AUTO_TEST_CASE(a_direction_computed_from_the_values_is_treated_as_constant) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), y = g.input("y", DType::f64, {3});
  const Value f = sum(x * x * x * y);
  const std::vector<Value> slopes = gradients(f, {x, y});
  const NamedTensors feeds = {{"x", kPoint}, {"y", kPoint}};
  // H = [[6 x y, 3 x^2], [3 x^2, 0]], elementwise.
  std::vector<double> by_x, by_y;
  for (const double v : kX) {
    const double dx = 3 * v * v * v, dy = v * v * v;
    by_x.push_back(6 * v * v * dx + 3 * v * v * dy);
    by_y.push_back(3 * v * v * dx);
  }
  const std::vector<Value> product = hessian_vector_product(f, {x, y}, slopes);
  check_near(evaluate(g, product[0], feeds), by_x);
  check_near(evaluate(g, product[1], feeds), by_y);
  // The result can still be differentiated with respect to the direction.
  const Value d = g.input("d", DType::f64, {3});
  const Value along = hessian_vector_product(f, {x}, {d})[0];
  check_near(evaluate(g, gradient(sum(along), d), {{"x", kPoint}, {"y", kPoint}, {"d", kPoint}}),
             {1.5, 6, 24});
}

BOOST_AUTO_TEST_CASE(errors_name_mismatched_arguments) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), y = g.input("y", DType::f64, {4});
  const Value ids = g.input("ids", DType::i64, {3});
  check_error<ArgumentError>([&] { jvp(square(x), {x}, {}); },
                             {"jvp: 0 tangents for 1 values", "derivatives_test.cc"});
  check_error<ShapeError>([&] { jvp(square(x), {x}, {y}); },
                          {"jvp: tangent 0 is f64[4], but the value is f64[3]"});
  check_error<ShapeError>([&] { hessian_vector_product(sum(square(x)), {x}, {y}); },
                          {"hessian_vector_product: direction 0 is f64[4]"});
  // Users of these functions must be able to follow the advice in the message.
  const std::string unreachable =
      "does not depend on input 'y' (f64[4]) through differentiable ops; leave it out: the "
      "derivative with respect to it is 0";
  check_error<GradientError>([&] { jacobian(square(x), y); },
                             {"jacobian: ", unreachable, "derivatives_test.cc"});
  check_error<GradientError>([&] { vjp(square(x), {y}, x); }, {"vjp: ", unreachable});
  check_error<GradientError>([&] { jvp(square(x), {y}, {y}); }, {"jvp: ", unreachable});
  check_error<GradientError>([&] { hessian(sum(x), y); }, {"hessian: ", unreachable});
  check_error<GradientError>([&] { hessian(square(x), x); }, {"hessian: ", "is not a scalar"});
  check_error<GradientError>([&] { jacobian(ids, ids); }, {"i64"});
  const Value none;
  const std::string here = "derivatives_test.cc";
  check_error<GradientError>([&] { jvp(none, {x}, {x}); },
                             {"jvp: output is an undefined Value", here});
  check_error<GradientError>([&] { jvp(square(x), {none}, {x}); },
                             {"jvp: one of wrt is an undefined Value", here});
  check_error<GradientError>([&] { jvp(square(x), {x}, {none}); },
                             {"jvp: a tangent is an undefined Value", here});
  check_error<GradientError>([&] { vjp(square(x), {x}, none); },
                             {"vjp: cotangent is an undefined Value", here});
  check_error<GradientError>([&] { jacobian(none, x); },
                             {"jacobian: output is an undefined Value", here});
  check_error<GraphError>([&] { jacobian(x, none); }, {here});
  check_error<GradientError>([&] { hessian_vector_product(sum(x), {x}, {none}); },
                             {"hessian_vector_product: a direction is an undefined Value", here});
  BOOST_TEST(g.functions().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
