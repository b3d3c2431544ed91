// cross_entropy with probabilities as targets. test_golden compares it with PyTorch, and
// tests/claims/shift_invariance_test.cc adds offsets to the logits.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

BOOST_AUTO_TEST_SUITE(soft_cross_entropy)

BOOST_AUTO_TEST_CASE(one_hot_targets_equal_class_indices) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double smoothing : {0.0, 0.3, 1.0}) {
      for (const int axis : {0, 1, 2, -1}) {
        const Sizes sizes = {5, 9, 7};
        Sizes positions = sizes;
        const int at = axis < 0 ? axis + 3 : axis;
        positions.erase(positions.begin() + at);
        const std::int64_t classes = sizes[static_cast<std::size_t>(at)];
        Graph g;
        const Value x = g.input("x", {dtype, Shape(sizes)});
        const Value ids = g.constant(sample_indices(positions, 2, classes));
        const Value hot = equal(iota(g, Shape(sizes), at), unsqueeze(ids, at));
        const CrossEntropyOptions options{
            .class_axis = axis, .label_smoothing = smoothing, .reduction = Reduction::none};
        const Value hard = cross_entropy(x, ids, options);
        const Value soft = cross_entropy(x, cast(hot, dtype), options);
        const auto r = evaluate_graph(
            {hard, soft, gradient(sum(square(hard)), x), gradient(sum(square(soft)), x)},
            {{x, sample_uniform(sizes, 1, -5, 5).to(dtype)}});
        const double tolerance = dtype == DType::f32 ? 1e-5 : 1e-13;
        BOOST_TEST(max_difference(r[0], r[1]) < tolerance);
        BOOST_TEST(max_difference(r[2], r[3]) < 4 * tolerance);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_with_respect_to_logits_and_targets_match_finite_differences) {
  for (const double smoothing : {0.0, 0.2}) {
    for (const int axis : {0, 1}) {
      for (const Reduction reduction : {Reduction::none, Reduction::mean}) {
        Graph g;
        const Value x = g.input("x", DType::f64, {4, 3}), t = g.input("t", DType::f64, {4, 3});
        const CrossEntropyOptions options{
            .class_axis = axis, .label_smoothing = smoothing, .reduction = reduction};
        // Targets need not be probabilities, and may be computed by a trained teacher.
        for (const Value& targets : {t, softmax(t, axis)}) {
          BOOST_TEST(check_gradients(
              square(cross_entropy(x, targets, options)), {x, t},
              {.feeds = {{"x", sample_uniform({4, 3}, 1)}, {"t", sample_uniform({4, 3}, 2)}},
               .second_order = true}));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradient_of_targets_that_are_zero_is_the_surprisal) {
  Graph g;
  const Value x = g.input("x", DType::f64, {3}), t = g.input("t", DType::f64, {3});
  const Value loss = cross_entropy(x, t);
  const auto r = evaluate_graph(
      {loss, gradient(loss, t), log_softmax(x)},
      {{x, Tensor::of<double>({3}, {1, -2, 0.5})}, {t, Tensor::zeros(DType::f64, {3})}});
  BOOST_TEST(r[0].at(0) == 0);
  for (int c = 0; c < 3; ++c) BOOST_TEST(std::abs(r[1].at(c) + r[2].at(c)) < 1e-15);
}

BOOST_AUTO_TEST_CASE(loss_of_a_student_that_equals_its_teacher_is_the_entropy_without_gradient) {
  Graph g;
  const Value x = g.input("x", DType::f64, {4, 6});
  const Value teacher = stop_gradient(softmax(x));
  const Value loss = cross_entropy(x, teacher, {.reduction = Reduction::sum});
  const auto r = evaluate_graph({loss, -sum(teacher * log_softmax(x)), gradient(loss, x)},
                                {{x, sample_uniform({4, 6}, 1, -4, 4).to(DType::f64)}});
  BOOST_TEST(max_difference(r[0], r[1]) < 1e-13);
  BOOST_TEST(max_difference(r[2], Tensor::zeros(DType::f64, {4, 6})) < 1e-15);
}

BOOST_AUTO_TEST_CASE(large_and_excluded_logits_give_finite_losses_and_gradients) {
  const float inf = INFINITY;
  for (const int axis : {0, 1}) {
    Graph g;
    Value x = g.input("x", DType::f32, {3, 4}), t = g.input("t", DType::f32, {3, 4});
    const Feed feed = {
        {x, Tensor::of<float>({3, 4},
                              {3e38F, -3e38F, 0, -inf, -inf, 7, 7, -inf, 1e6F, 1e6F, -1e6F, -inf})},
        {t, Tensor::of<float>({3, 4}, {1, 0, 0, 0, 0, 0.5F, 0.5F, 0, 0.25F, 0.75F, 0, 0})}};
    const Value loss = cross_entropy(axis == 1 ? x : transpose(x), axis == 1 ? t : transpose(t),
                                     {.class_axis = axis, .reduction = Reduction::none});
    const auto grads = gradients(sum(loss), {x, t});
    const auto r = evaluate_graph({loss, grads[0], grads[1]}, feed);
    BOOST_TEST(r[0].at(0) == 0);
    for (const int row : {1, 2}) BOOST_TEST(std::abs(r[0].at(row) - std::log(2.0)) < 1e-6);
    for (int i = 0; i < 12; ++i) BOOST_TEST(std::isfinite(r[1].at(i)));
    for (const int excluded : {3, 4, 7, 11}) {
      BOOST_TEST(r[1].at(excluded) == 0);
      BOOST_TEST(r[2].at(excluded) == 0);
    }
    BOOST_TEST(std::abs(r[1].at(8) - 0.25) < 1e-6);
    BOOST_TEST(std::abs(r[2].at(8) - std::log(2.0)) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(mean_divides_by_the_number_of_positions) {
  Graph g;
  const Value x = g.input("x", DType::f64, {"n", 3, "m"}),
              t = g.input("t", DType::f64, {"n", 3, "m"});
  const auto with = [&](Reduction reduction) {
    return cross_entropy(x, t, {.class_axis = 1, .reduction = reduction});
  };
  const auto r = evaluate_graph({with(Reduction::none), with(Reduction::sum), with(Reduction::mean),
                                 with(Reduction::batch_mean), with(Reduction::shard_mean)},
                                {{x, sample_uniform({2, 3, 5}, 1).to(DType::f64)},
                                 {t, sample_uniform({2, 3, 5}, 2, 0, 1).to(DType::f64)}});
  BOOST_TEST(r[0].type_str() == "f64[2, 5]");
  double total = 0;
  for (int i = 0; i < 10; ++i) total += r[0].at(i);
  const std::vector<double> want = {total, total / 10, total / 2, total / 10};
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(std::abs(r[i + 1].at(0) - want[i]) < 1e-14);
}

// The gradient of the logits is the only tensor of their size.
BOOST_AUTO_TEST_CASE(a_step_does_not_store_probabilities) {
  Graph g;
  const Variable logits = g.variable("logits", DType::f32, {512, 1000});
  const Value t = g.input("t", DType::f32, {512, 1000});
  const Value loss = cross_entropy(logits, t, {.label_smoothing = 0.1});
  Session session(g, {.threads = 1});
  const auto plan =
      session.plan(Program("p").output("d", gradient(loss, logits.value())), {{"t", {512, 1000}}});
  BOOST_TEST(plan->memory().arena < std::size_t{512} * 1000 * 4 * 5 / 4);
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  for (const int axis : {0, 1}) {
    Graph g;
    const Value x = g.input("x", DType::f32, {300, 500}), t = g.input("t", DType::f32, {300, 500});
    const Value loss = cross_entropy(x, t, {.class_axis = axis, .label_smoothing = 0.1});
    const Program p = Program("p").output("loss", loss).output("d", gradient(loss, x));
    const NamedTensors feeds = {{"x", sample_uniform({300, 500}, 1)},
                                {"t", sample_uniform({300, 500}, 2, 0, 1)}};
    Session one(g, {.threads = 1}), four(g, {.threads = 4});
    const Results a = one.run(p, feeds), b = four.run(p, feeds);
    for (const char* name : {"loss", "d"}) BOOST_TEST(bitwise_equal(a[name], b[name]));
  }
}

BOOST_AUTO_TEST_CASE(errors_name_types_and_line) {
  Graph g;
  const Value x = g.input("x", DType::f32, {6, 11}), t = g.input("t", DType::f32, {6, 11});
  const auto error = [](const std::function<void()>& build, std::vector<std::string> parts) {
    parts.insert(parts.end(), {"cross_entropy", "soft_cross_entropy_test.cc"});
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains(parts));
  };
  error([&] { cross_entropy(x, t, {.ignore_index = 3}); },
        {"ignore_index is 3, but applies to class indices only, and targets are probabilities, "
         "f32[6, 11]; multiply the losses of Reduction::none by a mask instead"});
  error([&] { cross_entropy(x, select(t, 1, 0)); },
        {"targets f32[6] are probabilities, so they must have the shape of logits, [6, 11]; class "
         "indices must be i32 or i64 [6]"});
  error([&] { cross_entropy(x, cast(t, DType::f64)); }, {"different dtypes, f32 and f64"});
  error([&] { cross_entropy(x, cast(t, DType::bf16)); }, {"different dtypes, f32 and bf16"});
  error([&] { cross_entropy(x, t, {.label_smoothing = 1.5}); },
        {"label_smoothing must be in [0, 1], but is 1.5"});
  error([&] { cross_entropy(x, t, {.class_axis = 2}); }, {"axis 2"});
  error([&] { cross_entropy(cast(x, DType::bf16), cast(t, DType::bf16)); },
        {"logits must be f32 or f64, but is bf16"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
