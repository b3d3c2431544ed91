// Losses for extreme logits, for rows and for scalars.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

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

BOOST_AUTO_TEST_CASE(focal_losses_without_modulation_are_cross_entropies) {
  Graph g;
  const Value x = g.input("x", DType::f64, {6, 4}), t = g.input("t", DType::f64, {6, 4});
  const Value ids = g.constant(Tensor::of<std::int64_t>({6}, {0, 3, -100, 2, 1, -100}));
  const auto r = evaluate_graph({focal_loss(x, ids, {.gamma = 0}), cross_entropy(x, ids),
                                 sigmoid_focal_loss(x, t, {.alpha = std::nullopt, .gamma = 0}),
                                 bce_with_logits(x, t), sigmoid_focal_loss(x, t, {.alpha = 0.5}),
                                 0.5 * sigmoid_focal_loss(x, t, {.alpha = std::nullopt})},
                                {{x, sample_uniform({6, 4}, 1, -4, 4).to(DType::f64)},
                                 {t, sample_indices({6, 4}, 2, 2).to(DType::f64)}});
  for (const std::size_t i : {0, 2, 4}) BOOST_TEST(max_difference(r[i], r[i + 1]) < 1e-14);
}

// The logits of the last two classes differ by x, so that the binary loss is the same.
BOOST_AUTO_TEST_CASE(focal_loss_of_two_classes_equals_the_binary_loss) {
  Graph g;
  const Value x = g.input("x", DType::f64, {40}), ids = g.input("ids", DType::i32, {40});
  const Value both = stack({zeros_like(x), x}, 1);
  for (const double gamma : {0.5, 1.0, 2.0, 5.0}) {
    const Value many = focal_loss(both, ids, {.gamma = gamma, .reduction = Reduction::none});
    const Value binary =
        sigmoid_focal_loss(x, cast(ids, DType::f64),
                           {.alpha = std::nullopt, .gamma = gamma, .reduction = Reduction::none});
    const auto r = evaluate_graph({many, binary, gradient(sum(many), x), gradient(sum(binary), x)},
                                  {{x, sample_uniform({40}, 1, -30, 30).to(DType::f64)},
                                   {ids, sample_indices({40}, 2, 2).to(DType::i32)}});
    BOOST_TEST(max_difference(r[0], r[1]) < 1e-12);
    BOOST_TEST(max_difference(r[2], r[3]) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(focal_losses_are_accurate_for_logits_of_any_size) {
  for (const double gamma : {0.5, 2.0}) {
    for (const double x : {-1e4, -200.0, -80.0, -15.0, 0.0, 15.0, 80.0, 200.0, 1e4}) {
      Graph g;
      const Value logit = g.input("x", DType::f32, {});
      const Value binary = sigmoid_focal_loss(logit, 1, {.alpha = std::nullopt, .gamma = gamma});
      const Value many = focal_loss(stack({zeros_like(logit), logit}, 0),
                                    g.constant(Tensor::scalar(DType::i64, 1)), {.gamma = gamma});
      const double nll = x < 0 ? -x + std::log1p(std::exp(x)) : std::log1p(std::exp(-x));
      const double right = std::pow(1 / (1 + std::exp(x)), gamma) * nll;
      for (const Value& loss : {binary, many}) {
        const auto r =
            evaluate_graph({loss, gradient(loss, logit)}, {{logit, Tensor::scalar(DType::f32, x)}});
        // The sum of exponentials in cross_entropy() is rounded near 1.
        const double rounding = loss == many ? 1e-10 : 1e-30;
        BOOST_TEST(std::abs(r[0].at(0) - right) <= 2e-6 * right + rounding);
        BOOST_TEST(std::isfinite(r[1].at(0)));
        if (x < -20) BOOST_TEST(r[1].at(0) == -1, boost::test_tools::tolerance(1e-6));
        if (x > 100) BOOST_TEST(r[1].at(0) == 0);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_focal_losses_match_finite_differences) {
  for (const double gamma : {0.0, 0.5, 2.0, 3.5}) {
    Graph g;
    const Value x = g.input("x", DType::f64, {3, 4}), t = g.input("t", DType::f64, {3, 4});
    const Value ids = g.constant(Tensor::of<std::int64_t>({3}, {0, 3, -100}));
    const Tensor at = sample_uniform({3, 4}, 1), targets = sample_uniform({3, 4}, 2, 0.1, 0.9);
    BOOST_TEST(check_gradients(focal_loss(x, ids, {.gamma = gamma, .reduction = Reduction::none}),
                               {x}, {.feeds = {{"x", at}}, .second_order = true}));
    BOOST_TEST(
        check_gradients(sigmoid_focal_loss(x, t, {.gamma = gamma, .reduction = Reduction::none}),
                        {x, t}, {.feeds = {{"x", at}, {"t", targets}}, .second_order = true}));
  }
}

BOOST_AUTO_TEST_CASE(focal_losses_reject_options_out_of_range) {
  Graph g;
  const Value x = g.input("x", DType::f32, {4, 3}), ids = g.input("ids", DType::i64, {4});
  const auto error = [](const std::function<void()>& build, const std::string& part) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({part, "loss_functions_test.cc"}));
  };
  error([&] { focal_loss(x, ids, {.gamma = -1}); },
        "focal_loss: gamma must be finite and at least 0, but is -1");
  error([&] { sigmoid_focal_loss(x, x, {.gamma = NAN}); }, "sigmoid_focal_loss: gamma must be");
  error([&] { sigmoid_focal_loss(x, x, {.alpha = -1}); },
        "sigmoid_focal_loss: alpha must be in [0, 1], but is -1");
  error([&] { focal_loss(x, x); }, "targets must be i32 or i64, but is f32");
  error([&] { sigmoid_focal_loss(unsqueeze(ids, 1), ids); }, "would both be broadcast");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
