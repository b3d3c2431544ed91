// Losses for extreme logits, for rows and for scalars.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(loss_functions)

BOOST_AUTO_TEST_CASE(bce_with_logits_is_accurate_for_small_losses_of_both_classes) {
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

BOOST_AUTO_TEST_CASE(losses_pair_each_row_with_its_own_target) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 1}), row = g.input("row", DType::f32, {1, 4});
  const Value target = g.input("target", DType::f32, {"n"});
  for (const auto loss : {mse, l1, bce_with_logits, kl_div}) {
    for (const auto& [a, b] : {std::pair(x, target), std::pair(target, x), std::pair(x, row)}) {
      BOOST_CHECK_EXCEPTION(loss(a, b, Reduction::none), ShapeError, [](const ShapeError& e) {
        const std::string text = e.what();
        return text.find("would both be broadcast") != std::string::npos &&
               text.find("loss_functions_test.cc") != std::string::npos;
      });
    }
    const Value scalar = g.scalar(DType::f32, 0.5);
    const Value wide = broadcast_to(row, {"n", 4});
    BOOST_TEST(loss(x, scalar, Reduction::none).type().str() == "f32[n, 1]");
    BOOST_TEST(loss(scalar, x, Reduction::none).type().str() == "f32[n, 1]");
    BOOST_TEST(loss(wide, row, Reduction::none).type().str() == "f32[n, 4]");
    BOOST_TEST(loss(row, wide, Reduction::none).type().str() == "f32[n, 4]");
    BOOST_TEST(loss(x, unsqueeze(target, 1), Reduction::mean).rank() == 0);
  }
}

BOOST_AUTO_TEST_CASE(batch_mean_of_a_scalar_is_an_error) {
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
