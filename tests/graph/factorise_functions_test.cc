// Factorisations in Sessions: functions, gradients and errors that depend on the data.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

// Returns the positive definite matrix x x^T + I.
Value definite(const Value& x) {
  const Value product = matmul(x, x, {.transpose_b = true});
  const Shape square{x.shape()[x.rank() - 2], x.shape()[x.rank() - 2]};
  return product + cast(equal(iota(x.graph(), square, 0), iota(x.graph(), square, 1)), x.dtype());
}

double worst(Value out, const std::vector<Value>& wrt,
             const std::vector<std::pair<std::string, Tensor>>& feeds) {
  const GradientReport report =
      check_gradients(out, wrt, {.feeds = feeds, .step = 1e-4, .second_order = true});
  BOOST_TEST_MESSAGE(report.worst);
  return report.max_relative_error;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(factorise_functions)

BOOST_AUTO_TEST_CASE(first_and_second_order_gradients_match_finite_differences) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", "n", 5});
  const Value b = g.input("b", DType::f32, {"n", 2});
  const std::vector<std::pair<std::string, Tensor>> feeds = {{"x", sample_uniform({2, 3, 5}, 1)},
                                                             {"b", sample_uniform({3, 2}, 2)}};
  const Value l = cholesky(definite(x));
  BOOST_TEST(worst(l, {x}, feeds) < 1e-6);
  BOOST_TEST(worst(cholesky_solve(l, b), {x, b}, feeds) < 1e-6);
  for (const bool upper : {false, true}) {
    for (const bool transpose : {false, true}) {
      for (const bool unit : {false, true}) {
        const Value t = definite(x);
        BOOST_TEST(worst(triangular_solve(t, b, {upper, transpose, unit}), {x, b}, feeds) < 1e-6);
      }
    }
  }
  const Value tall = transpose(x);
  const auto [q, r] = qr(tall);
  BOOST_TEST(worst(q, {x}, feeds) < 1e-6);
  BOOST_TEST(worst(r, {x}, feeds) < 1e-6);
  BOOST_TEST(worst(matmul(square(q), r), {x}, feeds) < 1e-6);
  for (const Value& matrix : {x, tall, definite(x)}) {
    const auto [u, s, vt] = svd(matrix);
    BOOST_TEST(worst(u, {x}, feeds) < 1e-5);
    BOOST_TEST(worst(s, {x}, feeds) < 1e-5);
    BOOST_TEST(worst(vt, {x}, feeds) < 1e-5);
    BOOST_TEST(worst(matmul(square(u), sin(vt)) * sum(s), {x}, feeds) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(wide_matrices_have_a_qr_factorisation) {
  Graph g;
  const Value x = g.input("x", DType::f64, {2, 3, 5});
  const auto [q, r] = qr(x);
  BOOST_CHECK_EQUAL(q.type().str(), "f64[2, 3, 3]");
  BOOST_CHECK_EQUAL(r.type().str(), "f64[2, 3, 5]");
  Session session(g);
  const Tensor data = sample_uniform({2, 3, 5}, 1).to(DType::f64);
  const Tensor back = session.run(Program("p").output("x", matmul(q, r)), {{"x", data}})["x"];
  for (std::int64_t i = 0; i < 30; ++i)
    BOOST_TEST(back.at(i) == data.at(i), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(worst(matmul(square(q), r), {x}, {{"x", data}}) < 1e-6);
}

// The best rank-1 approximation is unique, although singular vectors of equal singular values are
// not.
BOOST_AUTO_TEST_CASE(a_rank_one_approximation_has_a_gradient_if_smaller_values_are_equal) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4, 3});
  const auto [u, s, vt] = svd(x);
  const Value first = slice(u, 1, {.end = 1}) * select(s, 0, 0);
  const Value best = matmul(first, slice(vt, 0, {.end = 1}));
  const Tensor data = Tensor::of<double>({4, 3}, {5, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0});
  const GradientReport report = check_gradients(best, {x}, {.feeds = {{"x", data}}, .step = 1e-4});
  BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
}

BOOST_AUTO_TEST_CASE(batches_of_matrices_broadcast) {
  Graph g;
  const Value t = g.input("t", DType::f32, {3, 1, 4, 4}), b = g.input("b", DType::f32, {2, 4, 5});
  const Value out = triangular_solve(t, b);
  BOOST_CHECK_EQUAL(out.type().str(), "f32[3, 2, 4, 5]");
  check_error<ShapeError>(
      [&] {
        triangular_solve(t, g.input("c", DType::f32, {5, 3}));
      },
      {"the size of t and the rows of b: 4 and 5 differ", "triangular_solve",
       "factorise_functions_test.cc"});
  check_error<ShapeError>(
      [&] {
        triangular_solve(t, g.input("d", DType::f32, {2, 2, 4, 5}));
      },
      {"triangular_solve", "factorise_functions_test.cc"});
  check_error<ShapeError>(
      [&] { cholesky(b); },
      {"cholesky", "the rows and columns of x: 4 and 5 differ", "factorise_functions_test.cc"});
}

BOOST_AUTO_TEST_CASE(a_matrix_that_is_not_positive_definite_is_an_error_and_updates_nothing) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 2, 2});
  const Variable w = g.variable("w", DType::f32, {2, 2}, {.initializer = Initializer::ones()});
  const Value l = cholesky(x * w);
  Program train("train");
  const Value loss = sum(square(l));
  train.output("loss", loss).update(sgd(loss, g.parameters(), {.lr = 0.1}));
  Program gradient_alone("gradient");
  gradient_alone.output("dx", gradient(loss, x));
  const Tensor good = Tensor::of<float>({1, 2, 2}, {2, 1, 1, 2});
  const Tensor bad = Tensor::of<float>({2, 2, 2}, {2, 1, 1, 2, 1, 3, 3, 1});
  const std::string message =
      "the matrix [1] is not positive definite: pivot 1 of its Cholesky factor is not a positive "
      "number";
  for (const bool check_finite : {false, true}) {
    Session session(g,
                    {.threads = 2, .check_finite = check_finite, .verify = true, .poison = true});
    BOOST_CHECK_EXCEPTION(
        session.run(train, {{"x", bad}}), DataError,
        message_contains({message, "in cholesky called at", "factorise_functions_test.cc"}));
    for (int i = 0; i < 4; ++i) BOOST_TEST(session.store()->tensor("w").at(i) == 1);
    session.run(train, {{"x", good}});  // the failed run must not damage the state
    BOOST_TEST(session.store()->tensor("w").at(0) != 1);
    BOOST_CHECK_EXCEPTION(session.run(gradient_alone, {{"x", bad}}), DataError, says(message));
  }
}

BOOST_AUTO_TEST_CASE(errors_name_a_singular_triangular_matrix) {
  Graph g;
  const Value t = g.input("t", DType::f32, {2, 2}), b = g.input("b", DType::f32, {2, 1});
  Session session(g);
  BOOST_CHECK_EXCEPTION(
      session.run(Program("p").output("x", triangular_solve(t, b)),
                  {{"t", Tensor::of<float>({2, 2}, {1, 0, 5, 0})},
                   {"b", Tensor::of<float>({2, 1}, {1, 1})}}),
      DataError,
      message_contains({"the triangular matrix is singular: element 1 of its diagonal is 0",
                        "factorise_functions_test.cc"}));
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  const MoreThreads more(5);
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 24, 16});
  const Value gram = definite(x);
  const auto [q, r] = qr(x);
  const auto [u, s, vt] = svd(x);
  const Value l = cholesky(gram);
  const Value loss = sum(l) + sum(square(q)) + sum(r) + sum(u) + sum(s) + sum(square(vt)) +
                     sum(cholesky_solve(l, x));
  Program p("p");
  p.output("loss", loss).output("dx", gradient(loss, x)).output("u", u);
  std::vector<Results> results;
  for (const int threads : {1, 2, 5}) {
    Session session(g, {.threads = threads});
    results.push_back(session.run(p, {{"x", sample_uniform({19, 24, 16}, 1)}}));
  }
  for (const char* name : {"loss", "dx", "u"}) {
    BOOST_TEST(bitwise_equal(results[0][name], results[1][name]));
    BOOST_TEST(bitwise_equal(results[0][name], results[2][name]));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
