// One layer of linear attention with hand-written weights equals one step of gradient descent.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/zoo/experiments/linear_attention.h"
#include "weft/tests/support/numbers.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(linear_attention_steps)
namespace {

/// Returns random regression problems. Their sizes depend on the case number.
RegressionPoints random_points(Graph& g, int number, DType dtype) {
  const std::int64_t inputs = 1 + number % 6, outputs = 1 + number / 6 % 3,
                     count = 1 + number * 7 % 23, queries = 1 + number % 4;
  const Variable key = g.key("points");
  return {normal(key, Shape{3, count, inputs}, 0, 1, dtype),
          normal(key, Shape{3, count, outputs}, 0, 1, dtype),
          normal(key, Shape{3, queries, inputs}, 0, 1, dtype),
          normal(key, Shape{outputs, inputs}, 0, 1, dtype)};
}

/// Maximum absolute differences. `layers` compares attention with gradient descent; `moved`
/// compares the predictions before and after gradient descent.
struct Differences {
  double layers, moved;
};
Differences differences(int number, DType dtype, int steps) {
  Graph g;
  const RegressionPoints points = random_points(g, number, dtype);
  const double rate = 0.05 + 0.01 * (number % 10);
  const Program program = Program("p")
                              .output("layers", attention_predictions(points, rate, steps))
                              .output("steps", gradient_descent_predictions(points, rate, steps))
                              .output("start", gradient_descent_predictions(points, rate, 0));
  Session session(g, {.seed = static_cast<std::uint64_t>(number), .threads = 1});
  const Results found = session.run(program);
  return {testing::max_difference(found["layers"], found["steps"]),
          testing::max_difference(found["start"], found["steps"])};
}

BOOST_AUTO_TEST_CASE(one_layer_of_linear_attention_equals_one_step_of_gradient_descent) {
  for (int number = 0; number < 40; ++number) {
    BOOST_TEST_CONTEXT("case " << number) {
      const Differences single = differences(number, DType::f32, 1);
      BOOST_TEST(single.layers < 1e-5);
      BOOST_TEST(single.moved > 1e-3);
      BOOST_TEST(differences(number, DType::f64, 1).layers < 1e-13);
    }
  }
}

BOOST_AUTO_TEST_CASE(five_layers_with_the_same_weights_equal_five_gradient_descent_steps) {
  for (int number = 0; number < 12; ++number) {
    BOOST_TEST_CONTEXT("case " << number) {
      BOOST_TEST(differences(number, DType::f32, 5).layers < 1e-5);
      BOOST_TEST(differences(number, DType::f64, 5).layers < 1e-12);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
