// The CTC loss, compared with the sum over all alignments and with PyTorch, for hostile inputs and
// for long ones.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "weft/autodiff/check_gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft::testing {
namespace {

using Ids = std::vector<std::int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A batch for ctc_loss with the inputs "logits", "targets", "steps" and "labels".
struct CtcBatch {
  Tensor logits, targets, steps, labels;

  CtcBatch(const Sizes& sizes, const std::vector<double>& x, const std::vector<Ids>& ids,
           const Ids& input_lengths)
      : logits(Tensor::of<double>(sizes, x)) {
    Ids lengths;
    std::size_t longest = 0;
    for (const Ids& row : ids) longest = std::max(longest, row.size());
    Ids padded;
    for (const Ids& row : ids) {
      lengths.push_back(std::ssize(row));
      padded.insert(padded.end(), row.begin(), row.end());
      padded.resize(padded.size() + longest - row.size(), -100);
    }
    const std::int64_t batch = sizes[0];
    targets = Tensor::of<std::int64_t>({batch, static_cast<std::int64_t>(longest)}, padded);
    steps = Tensor::of<std::int64_t>({batch}, input_lengths);
    labels = Tensor::of<std::int64_t>({batch}, lengths);
  }
  NamedTensors feeds() const {
    return {{"logits", logits}, {"targets", targets}, {"steps", steps}, {"labels", labels}};
  }
};

// A graph with the loss of inputs of symbolic sizes and, if `classes` is not 0, that many classes.
struct CtcGraph {
  Graph g;
  Value logits, loss;

  explicit CtcGraph(const CtcOptions& options, std::int64_t classes = 0, DType dtype = DType::f64) {
    const AxisSize last = classes == 0 ? AxisSize("classes") : AxisSize(classes);
    logits = g.input("logits", dtype, {"batch", "time", last});
    const Value targets = g.input("targets", DType::i64, {"batch", "longest"});
    const Value steps = g.input("steps", DType::i64, {"batch"});
    const Value labels = g.input("labels", DType::i64, {"batch"});
    loss = ctc_loss(logits, targets, steps, labels, options);
  }
  Results run(const NamedTensors& feeds, const SessionOptions& options = {.threads = 1}) {
    Session session(g, options);
    const Program program =
        Program("ctc").output("loss", loss).output("gradient", gradient(sum(loss), logits));
    return session.run(program, feeds);
  }
};

std::vector<double> normal_numbers(std::size_t count, unsigned seed, double deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> out(count);
  for (double& x : out) x = normal(random);
  return out;
}

// The definition: the sum over all sequences of classes that collapse to the targets.
double enumerated_loss(const double* logits, std::int64_t steps, std::int64_t classes,
                       const Ids& targets, std::int64_t blank) {
  std::vector<double> p;
  for (std::int64_t t = 0; t < steps; ++t) {
    double total = 0;
    for (std::int64_t c = 0; c < classes; ++c) total += std::exp(logits[t * classes + c]);
    for (std::int64_t c = 0; c < classes; ++c)
      p.push_back(std::exp(logits[t * classes + c]) / total);
  }
  double sum = 0;
  std::int64_t alignments = 1;
  for (std::int64_t t = 0; t < steps; ++t) alignments *= classes;
  for (std::int64_t a = 0; a < alignments; ++a) {
    Ids ids;
    double product = 1;
    std::int64_t before = blank, rest = a;
    for (std::int64_t t = 0; t < steps; ++t, rest /= classes) {
      const std::int64_t c = rest % classes;
      product *= p[static_cast<std::size_t>(t * classes + c)];
      if (c != blank && c != before) ids.push_back(c);
      before = c;
    }
    if (ids == targets) sum += product;
  }
  return -std::log(sum);
}

BOOST_AUTO_TEST_SUITE(ctc_losses)

BOOST_AUTO_TEST_CASE(ctc_loss_is_the_sum_over_all_alignments) {
  std::mt19937 random(1);
  const auto below = [&](std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random);
  };
  int finite = 0, infinite = 0;
  for (unsigned round = 0; round < 150; ++round) {
    const std::int64_t batch = below(4), time = below(6), classes = 1 + below(4);
    const std::int64_t blank = below(classes);
    std::vector<Ids> targets;
    Ids steps;
    for (std::int64_t row = 0; row < batch; ++row) {
      steps.push_back(below(time + 1));
      Ids ids;
      for (std::int64_t n = classes > 1 ? below(4) : 0; n > 0; --n) {
        ids.push_back((blank + 1 + below(classes - 1)) % classes);
      }
      targets.push_back(ids);
    }
    const auto x = normal_numbers(static_cast<std::size_t>(batch * time * classes), round, 2);
    const CtcBatch data({batch, time, classes}, x, targets, steps);
    CtcGraph graph({.blank = blank, .reduction = Reduction::none}, round % 2 == 0 ? classes : 0);
    const Results r = graph.run(data.feeds());
    BOOST_REQUIRE(r["loss"].numel() == batch);
    for (std::int64_t row = 0; row < batch; ++row) {
      const auto i = static_cast<std::size_t>(row);
      const double expected =
          enumerated_loss(x.data() + row * time * classes, steps[i], classes, targets[i], blank);
      const double actual = r["loss"].at(row);
      ++(std::isinf(expected) ? infinite : finite);
      BOOST_TEST((actual == expected || std::abs(actual - expected) < 1e-12 * (1 + expected)),
                 fmt::format("round {}, row {}: {} and {}", round, row, actual, expected));
      double largest = 0;
      for (std::int64_t k = 0; k < time * classes; ++k) {
        const double slope = r["gradient"].at(row * time * classes + k);
        BOOST_REQUIRE(std::isfinite(slope));
        largest = std::max(largest, std::abs(slope));
        if (k >= steps[i] * classes || std::isinf(expected)) BOOST_REQUIRE(slope == 0);
      }
      BOOST_TEST(largest <= 1 + 1e-12);
    }
  }
  BOOST_TEST(finite > 100);
  BOOST_TEST(infinite > 20);
}

BOOST_AUTO_TEST_CASE(losses_and_gradients_equal_pytorch) {
  std::ifstream file(std::string(WEFT_FIXTURES) + "/ctc/ctc.json");
  const auto cases = nlohmann::json::parse(file);
  BOOST_TEST(cases.size() == 8U);
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c["name"].get<std::string>()) {
      const Sizes sizes = c["sizes"];
      const std::int64_t batch = sizes[0], blank = c["blank"];
      const auto rows = [&](const char* name) {
        return Tensor::of<std::int64_t>({batch}, c[name].get<Ids>());
      };
      const Tensor x = Tensor::of<double>(sizes, c["logits"].get<std::vector<double>>());
      const Tensor targets = Tensor::of<std::int64_t>({batch, c["longest"].get<std::int64_t>()},
                                                      c["targets"].get<Ids>());
      const std::vector<double> slopes = c["gradient"];
      for (const DType dtype : {DType::f64, DType::f32}) {
        const double error = dtype == DType::f64 ? 1e-12 : 2e-6;
        const NamedTensors feeds = {{"logits", x.to(dtype)},
                                    {"targets", targets},
                                    {"steps", rows("input_lengths")},
                                    {"labels", rows("target_lengths")}};
        CtcGraph none({.blank = blank, .reduction = Reduction::none}, 0, dtype);
        const Tensor losses = none.run(feeds)["loss"];
        for (std::int64_t row = 0; row < batch; ++row) {
          const auto& expected = c["losses"][static_cast<std::size_t>(row)];
          const double loss = expected.is_null() ? kInf : expected.get<double>();
          BOOST_TEST((losses.at(row) == loss || std::abs(losses.at(row) / loss - 1) < error));
        }
        CtcGraph sum({.blank = blank, .reduction = Reduction::sum, .zero_infinity = true}, 0,
                     dtype);
        BOOST_TEST(std::abs(sum.run(feeds)["loss"].at(0) / c["sum"].get<double>() - 1) < error);
        CtcGraph mean({.blank = blank, .zero_infinity = true}, 0, dtype);
        const Results r = mean.run(feeds);
        BOOST_TEST(std::abs(r["loss"].at(0) / c["mean"].get<double>() - 1) < error);
        for (std::size_t i = 0; i < slopes.size(); ++i) {
          BOOST_REQUIRE(std::abs(r["gradient"].at(static_cast<std::int64_t>(i)) - slopes[i]) <
                        error);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_first_and_second_order_equal_differences) {
  const std::vector<Ids> targets = {{1, 1, 2}, {2, 1}, {}, {1, 2, 2, 1}};
  const Ids steps = {6, 4, 3, 5};
  // Equal logits make all sums of equal terms.
  for (const double deviation : {1.0, 0.0}) {
    for (const Reduction reduction : {Reduction::none, Reduction::mean}) {
      CtcGraph graph({.reduction = reduction}, 3);
      const CtcBatch data({4, 6, 3}, normal_numbers(4 * 6 * 3, 2, deviation), targets, steps);
      const GradientReport report = check_gradients(graph.loss, {graph.logits},
                                                    {.feeds = data.feeds(), .second_order = true});
      BOOST_TEST(report.passed, report);
      BOOST_TEST(report.elements_checked >= 64);
    }
  }
}

// The loss of logits in which some classes are -inf, with gradients of both orders.
BOOST_AUTO_TEST_CASE(classes_of_probability_zero_have_no_gradient) {
  const std::vector<double> x = {0.5,   -kInf, 1,     0.2, 0.1,   -kInf, 0,   1, 2,    //
                                 0.5,   -kInf, 1,     0.2, -kInf, 1,     0.3, 1, 0.1,  //
                                 -kInf, 0,     -kInf, 0.1, 0.4,   0.7,   0.3, 1, -kInf};
  // Row 1 needs class 1 in one of three steps; it is possible in the last step only. Row 0 needs
  // class 1 at the second step if class 2 follows. In row 2, the first step must be class 1.
  const CtcBatch data({3, 3, 3}, x, {{1, 2}, {1, 1}, {1}}, {3, 3, 3});
  CtcGraph graph({.reduction = Reduction::none}, 3);
  const Value slope = gradient(sum(graph.loss), graph.logits);
  Session session(graph.g, {.threads = 1});
  const Results r = session.run(Program("p")
                                    .output("loss", graph.loss)
                                    .output("gradient", slope)
                                    .output("second", gradient(sum(square(slope)), graph.logits)),
                                data.feeds());
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::int64_t targets = row == 0 ? 2 : row == 1 ? 2 : 1;
    Ids ids;
    for (std::int64_t i = 0; i < targets; ++i) ids.push_back(row == 0 ? i + 1 : 1);
    const double expected = enumerated_loss(x.data() + row * 9, 3, 3, ids, 0);
    BOOST_TEST((r["loss"].at(row) == expected || std::abs(r["loss"].at(row) - expected) < 1e-12),
               r["loss"].at(row) << " and " << expected);
  }
  BOOST_TEST(std::isfinite(r["loss"].at(0)));
  BOOST_TEST(std::isinf(r["loss"].at(1)));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    BOOST_REQUIRE(std::isfinite(r["gradient"].at(at)));
    BOOST_REQUIRE(std::isfinite(r["second"].at(at)));
    if (std::isinf(x[i]) || (at >= 9 && at < 18)) BOOST_TEST(r["gradient"].at(at) == 0);
  }
}

BOOST_AUTO_TEST_CASE(padding_has_no_effect_whatever_it_contains) {
  const std::vector<Ids> targets = {{1, 2}, {2}};
  const auto x = normal_numbers(2 * 5 * 3, 4);
  CtcGraph graph({}, 3);
  const Results clean = graph.run(CtcBatch({2, 5, 3}, x, targets, {4, 2}).feeds());
  for (const double padding : {kNaN, kInf, -kInf, 1e300}) {
    std::vector<double> padded = x;
    for (std::size_t i = 12; i < 15; ++i) padded[i] = padding;
    for (std::size_t i = 21; i < 30; ++i) padded[i] = padding;
    const Results r = graph.run(CtcBatch({2, 5, 3}, padded, targets, {4, 2}).feeds());
    BOOST_TEST(r["loss"].at(0) == clean["loss"].at(0));
    BOOST_TEST(max_difference(r["gradient"], clean["gradient"]) == 0);
  }
}

BOOST_AUTO_TEST_CASE(nan_logits_give_nan) {
  auto x = normal_numbers(2 * 3 * 3, 4);
  x[4] = kNaN;
  CtcGraph graph({.reduction = Reduction::none, .zero_infinity = true}, 3);
  const Results r = graph.run(CtcBatch({2, 3, 3}, x, {{1}, {2}}, {3, 3}).feeds());
  BOOST_TEST(std::isnan(r["loss"].at(0)));
  BOOST_TEST(std::isfinite(r["loss"].at(1)));
}

// The f32 loss and gradient of f32 logits differ from those in double only by the rounding of the
// results, even if the loss is close to 0.
BOOST_AUTO_TEST_CASE(two_thousand_steps_lose_no_accuracy) {
  constexpr std::int64_t kTime = 2000, kClasses = 12;
  for (const std::size_t labels : {0U, 40U, 700U}) {
    for (const bool confident : {false, true}) {
      Ids ids;
      for (std::size_t i = 0; i < labels; ++i)
        ids.push_back(1 + static_cast<std::int64_t>(i * 5 % 11));
      std::vector<double> x = normal_numbers(kTime * kClasses, 7, 3);
      if (confident) {
        for (std::size_t t = 0; t < kTime; ++t) {
          const std::size_t k = t * labels / kTime;
          const bool starts = labels > 0 && (t == 0 || k != (t - 1) * labels / kTime);
          x[t * kClasses + static_cast<std::size_t>(starts ? ids[k] : 0)] += 30;
        }
      }
      const CtcBatch data({1, kTime, kClasses}, x, {ids}, {kTime});
      NamedTensors feeds = data.feeds();
      feeds[0].second = feeds[0].second.to(DType::f32);
      CtcGraph narrow({.reduction = Reduction::sum}, kClasses, DType::f32);
      const Results r = narrow.run(feeds);
      feeds[0].second = feeds[0].second.to(DType::f64);
      CtcGraph wide({.reduction = Reduction::sum}, kClasses);
      const Results exact = wide.run(feeds);
      BOOST_TEST_CONTEXT(labels << " labels, confident: " << confident << ", loss "
                                << exact["loss"].at(0)) {
        BOOST_TEST(std::abs(r["loss"].at(0) / exact["loss"].at(0) - 1) < 1.5e-7);
        BOOST_TEST(max_difference(r["gradient"].to(DType::f64), exact["gradient"]) < 2e-7);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(long_losses_equal_a_recurrence_in_extended_precision) {
  constexpr std::int64_t kTime = 2000, kClasses = 5;
  const Ids ids = {1, 2, 2, 3, 4, 1, 1, 3};
  const auto x = normal_numbers(kTime * kClasses, 11, 2);
  // The recurrence of the paper with rescaled probabilities.
  std::vector<long double> alpha(2 * ids.size() + 1, 0);
  alpha[0] = 1;
  long double log_p = 0;
  const auto label = [&](std::size_t s) { return s % 2 == 0 ? 0 : ids[s / 2]; };
  for (std::size_t t = 0; t < kTime; ++t) {
    long double total = 0;
    for (std::size_t c = 0; c < kClasses; ++c) total += std::exp((long double)x[t * kClasses + c]);
    std::vector<long double> next(alpha.size(), 0);
    for (std::size_t s = 0; s < alpha.size(); ++s) {
      next[s] = alpha[s];
      if (s > 0 && (t > 0 || s == 1)) next[s] += alpha[s - 1];
      if (t > 0 && s > 1 && s % 2 == 1 && label(s) != label(s - 2)) next[s] += alpha[s - 2];
      next[s] *=
          std::exp((long double)x[t * kClasses + static_cast<std::size_t>(label(s))]) / total;
    }
    long double scale = 0;
    for (const long double a : next) scale += a;
    for (long double& a : next) a /= scale;
    log_p += std::log(scale);
    alpha = next;
  }
  log_p += std::log(alpha[alpha.size() - 1] + alpha[alpha.size() - 2]);
  CtcGraph graph({.reduction = Reduction::sum}, kClasses);
  const double loss =
      graph.run(CtcBatch({1, kTime, kClasses}, x, {ids}, {kTime}).feeds())["loss"].at(0);
  BOOST_TEST(std::abs(loss / static_cast<double>(-log_p) - 1) < 1e-14);
}

BOOST_AUTO_TEST_CASE(reductions_match_their_definitions) {
  const std::vector<Ids> targets = {{1, 2, 1}, {}, {2, 1}, {2}};
  const CtcBatch data({4, 5, 3}, normal_numbers(60, 5), targets, {5, 4, 5, 3});
  const auto reduced = [&](Reduction reduction) {
    CtcGraph graph({.reduction = reduction}, 3);
    return elements_of(graph.run(data.feeds())["loss"]);
  };
  const auto l = reduced(Reduction::none);
  BOOST_TEST(l.size() == 4U);
  const double mean = (l[0] / 3 + l[1] + l[2] / 2 + l[3]) / 4, all = l[0] + l[1] + l[2] + l[3];
  BOOST_TEST(reduced(Reduction::mean)[0] == mean, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(reduced(Reduction::shard_mean)[0] == mean, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(reduced(Reduction::sum)[0] == all, boost::test_tools::tolerance(1e-14));
  BOOST_TEST(reduced(Reduction::batch_mean)[0] == all / 4, boost::test_tools::tolerance(1e-14));
  CtcGraph graph({.reduction = Reduction::shard_mean}, 3);
  Session session(graph.g, {.threads = 1});
  const Program shards = Program("p").output("loss", graph.loss).shards({.count = 2});
  BOOST_TEST(session.run(shards, data.feeds())["loss"].at(0) == mean,
             boost::test_tools::tolerance(1e-14));
  // The mean over no rows is undefined, as in PyTorch.
  CtcGraph none({}, 3);
  BOOST_TEST(std::isnan(none.run(CtcBatch({0, 5, 3}, {}, {}, {}).feeds())["loss"].at(0)));
}

BOOST_AUTO_TEST_CASE(absent_lengths_mean_that_everything_is_valid) {
  Graph g;
  const Value logits = g.input("logits", DType::f64, {2, 4, 3});
  const Value targets = g.input("targets", DType::i32, {2, 2});
  const Value four = g.constant(Tensor::of<std::int32_t>({2}, {4, 4}));
  const Value two = g.constant(Tensor::of<std::int64_t>({2}, {2, 2}));
  const Program p = Program("p")
                        .output("absent", ctc_loss(logits, targets, {}, {}))
                        .output("given", ctc_loss(logits, targets, four, two));
  Session session(g, {.threads = 1});
  const Results r =
      session.run(p, {{"logits", Tensor::of<double>({2, 4, 3}, normal_numbers(24, 3))},
                      {"targets", Tensor::of<std::int32_t>({2, 2}, {1, 2, 2, 2})}});
  BOOST_TEST(r["absent"].at(0) == r["given"].at(0));
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_threads_or_on_a_memory_budget) {
  const std::vector<Ids> targets(9, Ids{1, 2, 3, 3, 2, 1, 4});
  const CtcBatch data({9, 64, 5}, normal_numbers(9 * 64 * 5, 6), targets,
                      {64, 60, 50, 40, 30, 20, 10, 9, 64});
  CtcGraph graph({.reduction = Reduction::none}, 5);
  const Results one = graph.run(data.feeds());
  Session session(graph.g, {.threads = 1});
  const Program program =
      Program("ctc").output("gradient", gradient(sum(graph.loss), graph.logits));
  const std::size_t arena = session.plan(program, sizes_of(data.feeds()))->arena_bytes;
  for (const SessionOptions& options :
       {SessionOptions{.threads = 3, .verify = true}, SessionOptions{.threads = 2, .poison = true},
        SessionOptions{.threads = 1, .check_finite = true},
        SessionOptions{.threads = 1, .memory_budget = arena - arena / 10, .verify = true}}) {
    const Results r = graph.run(data.feeds(), options);
    BOOST_TEST(max_difference(r["loss"], one["loss"]) == 0);
    BOOST_TEST(max_difference(r["gradient"], one["gradient"]) == 0);
  }
  const Results plain = graph.run(data.feeds(), {.threads = 1, .passes = false});
  BOOST_TEST(max_difference(plain["loss"], one["loss"]) < 1e-12);
  BOOST_TEST(max_difference(plain["gradient"], one["gradient"]) < 1e-13);
}

BOOST_AUTO_TEST_CASE(wrong_operands_are_errors) {
  Graph g;
  const Value logits = g.input("logits", DType::f32, {"batch", "time", 4});
  const Value targets = g.input("targets", DType::i64, {"batch", "longest"});
  const Value lengths = g.input("lengths", DType::i64, {"batch"});
  const Value others = g.input("others", DType::i64, {"n"});
  const Value flat = g.input("flat", DType::f32, {"batch", 4});
  const std::string here = "ctc_loss_test.cc";
  check_error<DTypeError>(
      [&] { ctc_loss(cast(logits, DType::i32), targets, {}, {}); },
      {"ctc_loss: logits must be f32 or f64, but is i32[batch, time, 4]", here});
  check_error<DTypeError>([&] { ctc_loss(cast(logits, DType::bf16), targets, {}, {}); },
                          {"logits must be f32 or f64, but is bf16[batch, time, 4]; use cast()"});
  check_error<ShapeError>(
      [&] { ctc_loss(flat, targets, {}, {}); },
      {"ctc_loss: logits must be [batch, time, classes], but is [batch, 4]", here});
  check_error<DTypeError>([&] { ctc_loss(logits, flat, {}, {}); },
                          {"ctc_loss: targets must be i32 or i64, but is f32[batch, 4]", here});
  check_error<ShapeError>(
      [&] { ctc_loss(logits, lengths, {}, {}); },
      {"ctc_loss: targets must be [batch, longest target], but is [batch]", here});
  check_error<ShapeError>(
      [&] { ctc_loss(logits, targets, others, {}); },
      {"ctc_loss: input_lengths must be [batch], one length for each row, but is [n]", here});
  check_error<ShapeError>(
      [&] { ctc_loss(logits, targets, lengths, targets); },
      {"target_lengths must be [batch], one length for each row, but is [batch, "
       "longest]"});
  check_error<DTypeError>([&] { ctc_loss(logits, targets, {}, select(flat, 1, 0)); },
                          {"ctc_loss: target_lengths must be i32 or i64, but is f32[batch]", here});
  for (const std::int64_t blank : {-1, 4}) {
    check_error<ArgumentError>(
        [&] { ctc_loss(logits, targets, {}, {}, {.blank = blank}); },
        {fmt::format("ctc_loss: blank is {}, but must be one of the 4 classes "
                     "of logits",
                     blank),
         here});
  }
  check_error<ArgumentError>(
      [&] { ctc_greedy_decode(logits, {}, 9); },
      {"ctc_greedy_decode: blank is 9, but must be one of the 4 classes", here});
  Graph other;
  const Value foreign = other.input("x", DType::i64, {"batch", "longest"});
  check_error<GraphError>([&] { ctc_loss(logits, foreign, {}, {}); }, {"targets", here});
}

BOOST_AUTO_TEST_CASE(data_errors_name_row_and_position) {
  CtcGraph graph({.blank = 1}, 4);
  const auto x = normal_numbers(2 * 3 * 4, 1);
  const auto check = [&](const std::vector<Ids>& targets, const Ids& steps, const Ids& labels,
                         const std::string& message) {
    CtcBatch data({2, 3, 4}, x, targets, steps);
    if (!labels.empty()) data.labels = Tensor::of<std::int64_t>({2}, labels);
    check_error<DataError>([&] { graph.run(data.feeds()); },
                           {message, "ctc_loss", "ctc_loss_test.cc"});
  };
  const std::string range = ", but it must be from 0 to 3 and must not be 1";
  check({{0, 2}, {0, 4}}, {3, 3}, {}, "targets[1, 1] is 4" + range);
  check({{0, -1}, {0}}, {3, 3}, {}, "targets[0, 1] is -1" + range);
  check({{0, 2}, {1}}, {3, 3}, {}, "targets[1, 0] is 1" + range);
  check({{0, 2}, {0}}, {3, 4}, {}, "input_lengths[1] is 4, but it must be from 0 to 3");
  check({{0, 2}, {0}}, {-1, 3}, {}, "input_lengths[0] is -1, but it must be from 0 to 3");
  check({{0, 2}, {0}}, {3, 3}, {3, 1}, "target_lengths[0] is 3, but it must be from 0 to 2");
  // Invalid values after the target length are ignored.
  CtcBatch data({2, 3, 4}, x, {{0, 9}, {1, 1}}, {3, 3});
  data.labels = Tensor::of<std::int64_t>({2}, {1, 0});
  BOOST_TEST(std::isfinite(graph.run(data.feeds())["loss"].at(0)));
}

BOOST_AUTO_TEST_CASE(greedy_decoding_merges_repeats_and_removes_blanks) {
  Graph g;
  const Value logits = g.input("logits", DType::f32, {"batch", "time", 4});
  const Value steps = g.input("steps", DType::i32, {"batch"});
  const CtcDecoded all = ctc_greedy_decode(logits), some = ctc_greedy_decode(logits, steps, 3);
  const Program p = Program("p")
                        .output("all", all.ids)
                        .output("all_lengths", all.lengths)
                        .output("some", some.ids)
                        .output("some_lengths", some.lengths);
  Session session(g, {.threads = 1});
  const auto run = [&](const std::vector<Ids>& best, const std::vector<std::int32_t>& lengths) {
    const std::int64_t batch = std::ssize(best);
    const std::int64_t time = batch == 0 ? 0 : std::ssize(best[0]);
    Tensor x = Tensor::zeros(DType::f32, {batch, time, 4});
    for (std::int64_t row = 0; row < batch; ++row) {
      for (std::int64_t t = 0; t < time; ++t) {
        const std::int64_t id = best[static_cast<std::size_t>(row)][static_cast<std::size_t>(t)];
        x.mutable_data<float>()[(row * time + t) * 4 + id] = 1;
      }
    }
    return session.run(p, {{"logits", x}, {"steps", Tensor::of<std::int32_t>({batch}, lengths)}});
  };
  const Results r = run({{0, 1, 1, 0, 1, 2}, {3, 3, 2, 2, 1, 3}, {0, 0, 0, 0, 0, 0}}, {6, 5, 3});
  const auto same = [](const Tensor& actual, const std::vector<double>& expected) {
    BOOST_TEST(elements_of(actual) == expected, boost::test_tools::per_element());
  };
  same(r["all"], {1, 1, 2, 0, 0, 0, 3, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0});
  same(r["all_lengths"], {3, 4, 0});
  same(r["some"], {0, 1, 0, 1, 2, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  same(r["some_lengths"], {5, 2, 1});
  BOOST_TEST(run({{}, {}}, {0, 0})["all_lengths"].numel() == 2);
  BOOST_TEST(run({}, {})["some"].numel() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
