// Losses at the ends of their ranges.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/tests/kit/messages.h"
#include "weft/tests/reference/evaluate_graph.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(loss_functions)

BOOST_AUTO_TEST_CASE(bce_with_logits_keeps_small_losses_of_both_classes) {
  for (const double t : {0.0, 1.0, 0.25}) {
    for (const double x : {-80.0, -15.0, -1.0, 0.0, 1.0, 15.0, 80.0}) {
      Graph g;
      const Value logit = g.input("x", DType::f32, {}), target = g.input("t", DType::f32, {});
      const double loss = evaluate_graph({bce_with_logits(logit, target, Reduction::sum)},
                                         {{logit, Tensor::scalar(DType::f32, x)},
                                          {target, Tensor::scalar(DType::f32, t)}})[0]
                              .at(0);
      const double right = t * std::log1p(std::exp(-x)) + (1 - t) * std::log1p(std::exp(x));
      BOOST_TEST(loss == right, boost::test_tools::tolerance(1e-6));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_scalar_has_no_batch) {
  Graph g;
  const Value x = g.input("x", DType::f32, {});
  BOOST_CHECK_EXCEPTION(
      mse(x, 1, Reduction::batch_mean), ShapeError,
      message_contains({"mse: batch_mean divides by the size of the first axis, but the losses are "
                        "a scalar",
                        "loss_functions_test.cc"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
