// Channel normalisations: running statistics as Variables, gradients and error messages.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
BOOST_AUTO_TEST_SUITE(channel_norms)

BOOST_AUTO_TEST_CASE(training_programs_update_the_running_statistics) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 2});
  const Variable mean = g.variable("mean", DType::f32, {2}, {.kind = VariableKind::buffer});
  const Variable variance =
      g.variable("variance", DType::f32, {2},
                 {.kind = VariableKind::buffer, .initializer = Initializer::ones()});
  const BatchNorm training = batch_norm(x, mean, variance, {}, {}, {.momentum = 0.5, .eps = 0});
  const BatchNorm evaluation = batch_norm(x, mean, variance, {}, {}, {.training = false, .eps = 0});
  Program train("train"), evaluate("evaluate");
  train.output("out", training.out)
      .update(mean, training.running_mean)
      .update(variance, training.running_variance);
  evaluate.output("out", evaluation.out);
  Session session(g);
  const Tensor data = Tensor::of<float>({2, 2}, {1, 10, 3, 30});
  const auto once = session.run(train, {{"x", data}})["out"].to_vector<float>();
  BOOST_CHECK((once == std::vector<float>{-1, -1, 1, 1}));
  // The batch has means 2 and 20 and unbiased variances 2 and 200, which are averaged with 0 and 1.
  BOOST_CHECK((session.store()->tensor("mean").to_vector<float>() == std::vector<float>{1, 10}));
  BOOST_CHECK(
      (session.store()->tensor("variance").to_vector<float>() == std::vector<float>{1.5, 100.5}));
  const Tensor out = session.run(evaluate, {{"x", data}})["out"];
  BOOST_TEST(out.at(0) == 0);
  BOOST_TEST(out.at(3) == 20 / std::sqrt(100.5f), boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(a_single_element_has_variance_zero) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 1}), s = g.input("s", DType::f32, {1});
  const BatchNorm n = batch_norm(x, s, s);
  Session session(g);
  const Results r = session.run(
      Program("p").output("out", n.out).output("variance", n.running_variance),
      {{"x", Tensor::full(DType::f32, {1, 1}, 3)}, {"s", Tensor::full(DType::f32, {1}, 2)}});
  BOOST_TEST(r["out"].at(0) == 0);
  BOOST_TEST(r["variance"].at(0) == 1.8, boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(first_and_second_order_gradients_match_finite_differences) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3, "width"});
  const Value gain = g.input("gain", DType::f32, {3}), bias = g.input("bias", DType::f32, {3});
  const std::vector<std::pair<std::string, Tensor>> feeds = {{"x", sample_uniform({2, 3, 4}, 1)},
                                                             {"gain", sample_uniform({3}, 2)},
                                                             {"bias", sample_uniform({3}, 3)}};
  const Value positive = square(bias) + 0.5;
  for (const Value& out : {batch_norm(x, bias, positive, gain, bias).out,
                           batch_norm(x, bias, positive, gain, bias, {.training = false}).out,
                           instance_norm(x, gain, bias), group_norm(x, 3, gain, bias)}) {
    const GradientReport report =
        check_gradients(out, {x, gain, bias}, {.feeds = feeds, .second_order = true});
    BOOST_TEST(report.max_relative_error < 1e-6, report.worst);
  }
  const BatchNorm n = batch_norm(x, bias, positive);
  const Value none = gradient(sum(n.running_mean) + sum(n.running_variance), x,
                              {.unreachable = Unreachable::zeros});
  Session session(g);
  const Tensor zeros = session.run(Program("p").output("dx", none),
                                   {{"x", feeds[0].second}, {"bias", feeds[2].second}})["dx"];
  for (std::int64_t i = 0; i < zeros.numel(); ++i) BOOST_TEST(zeros.at(i) == 0);
}

BOOST_AUTO_TEST_CASE(instance_norm_is_group_norm_with_a_group_per_channel) {
  Graph g;
  const Value x = g.input("x", DType::f32, {2, 4, 5, 3});
  Session session(g);
  const Results r = session.run(
      Program("p").output("instance", instance_norm(x)).output("group", group_norm(x, 4)),
      {{"x", sample_uniform({2, 4, 5, 3}, 1)}});
  for (std::int64_t i = 0; i < 120; ++i)
    BOOST_TEST(r["instance"].at(i) == r["group"].at(i), boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(errors_name_the_operand) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3, 8}), c = g.input("c", DType::f32, {3});
  const Value one = g.input("one", DType::f32, {1});
  const std::string wrong = "must have shape [3], one element per channel, but has [1]";
  check_error<ShapeError>([&] { batch_norm(x, one, c); },
                          {"batch_norm", "running_mean " + wrong, "channel_norms_test.cc"});
  check_error<ShapeError>([&] { batch_norm(x, c, one); }, {"running_variance " + wrong});
  check_error<ShapeError>([&] { batch_norm(x, c, c, one); }, {"gain " + wrong});
  check_error<ShapeError>([&] { instance_norm(x, c, one); }, {"instance_norm", "bias " + wrong});
  check_error<ShapeError>([&] { group_norm(x, 3, one); }, {"group_norm", "gain " + wrong});
  check_error<ShapeError>([&] { batch_norm(c, c, c); }, {"batch_norm", "x must be [N, C, ...]"});
  check_error<ShapeError>(
      [&] {
        instance_norm(g.input("y", DType::f32, {2, 3}));
      },
      {"instance_norm", "x must be [N, C, ...] with a spatial axis"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
