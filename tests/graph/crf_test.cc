// Linear-chain CRFs, compared with the sum and the maximum over all paths.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
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

using Path = std::vector<std::int64_t>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The scores of a batch of rows of `time` steps.
struct CrfScores {
  std::int64_t batch, time, tags;
  std::vector<double> emissions, transitions, start, end;
  Path lengths, paths;  // paths: [batch, time]

  CrfScores(std::int64_t b, std::int64_t t, std::int64_t k, unsigned seed, double deviation = 1)
      : batch(b), time(t), tags(k) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, deviation);
    const auto fill = [&](std::vector<double>& v, std::int64_t count) {
      v.resize(static_cast<std::size_t>(count));
      for (double& x : v) x = normal(random);
    };
    fill(emissions, b * t * k);
    fill(transitions, k * k);
    fill(start, k);
    fill(end, k);
    for (std::int64_t row = 0; row < b; ++row) {
      lengths.push_back(std::uniform_int_distribution<std::int64_t>(0, t)(random));
      for (std::int64_t i = 0; i < t; ++i) {
        const bool valid = i < lengths.back();
        paths.push_back(valid ? std::uniform_int_distribution<std::int64_t>(0, k - 1)(random)
                              : -100);
      }
    }
  }
  double score(std::int64_t row, const Path& path) const {
    double sum = 0;
    for (std::size_t t = 0; t < path.size(); ++t) {
      const std::int64_t tag = path[t];
      sum += emissions[static_cast<std::size_t>((row * time + static_cast<std::int64_t>(t)) * tags +
                                                tag)];
      sum += t == 0 ? start[static_cast<std::size_t>(tag)]
                    : transitions[static_cast<std::size_t>(path[t - 1] * tags + tag)];
      if (t + 1 == path.size()) sum += end[static_cast<std::size_t>(tag)];
    }
    return sum;
  }
  /// Calls visit(path, score) for all paths of a row.
  template <class Visit>
  void for_paths(std::int64_t row, Visit visit) const {
    const auto length = static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)]);
    std::int64_t count = 1;
    for (std::size_t t = 0; t < length; ++t) count *= tags;
    for (std::int64_t n = 0; n < count; ++n) {
      Path path(length);
      std::int64_t rest = n;
      for (std::size_t t = 0; t < length; ++t, rest /= tags) path[t] = rest % tags;
      visit(path, score(row, path));
    }
  }
  Path tagged(std::int64_t row) const {
    const auto begin = paths.begin() + row * time;
    return {begin, begin + lengths[static_cast<std::size_t>(row)]};
  }
  NamedTensors feeds(DType dtype = DType::f64) const {
    return {{"emissions", Tensor::of<double>({batch, time, tags}, emissions).to(dtype)},
            {"transitions", Tensor::of<double>({tags, tags}, transitions).to(dtype)},
            {"start", Tensor::of<double>({tags}, start).to(dtype)},
            {"end", Tensor::of<double>({tags}, end).to(dtype)},
            {"lengths", Tensor::of<std::int64_t>({batch}, lengths)},
            {"tags", Tensor::of<std::int64_t>({batch, time}, paths)}};
  }
};

struct CrfGraph {
  Graph g;
  Value emissions, tags, lengths, likelihood, marginals;
  CrfTransitions crf;
  CrfPath best;

  explicit CrfGraph(DType dtype = DType::f64, const AxisSize& size = "tags") {
    emissions = g.input("emissions", dtype, {"batch", "time", size});
    tags = g.input("tags", DType::i64, {"batch", "time"});
    lengths = g.input("lengths", DType::i64, {"batch"});
    crf = {g.input("transitions", dtype, {size, size}), g.input("start", dtype, {size}),
           g.input("end", dtype, {size})};
    likelihood = crf_log_likelihood(emissions, tags, crf, lengths);
    marginals = crf_marginals(emissions, crf, lengths);
    best = crf_viterbi(emissions, crf, lengths);
  }
  std::vector<Value> scores() const {
    return {emissions, crf.transitions, crf.start.value(), crf.end.value()};
  }
  Results run(const NamedTensors& feeds, const SessionOptions& options = {.threads = 1}) {
    Session session(g, options);
    return session.run(Program("crf")
                           .output("likelihood", likelihood)
                           .output("marginals", marginals)
                           .output("path", best.tags)
                           .output("score", best.score),
                       feeds);
  }
};

// Compares a run with the definitions. Returns the number of rows without an allowed path.
int check_crf(const CrfScores& s, const Results& r) {
  int forbidden = 0;
  for (std::int64_t row = 0; row < s.batch; ++row) {
    const Path tagged = s.tagged(row);
    const std::int64_t length = std::ssize(tagged);
    double total = 0, largest = -kInfinite;
    Path best(tagged.size());
    std::vector<double> marginals(static_cast<std::size_t>(s.time * s.tags));
    s.for_paths(row, [&](const Path& path, double score) {
      total += std::exp(score);
      for (std::size_t t = 0; t < path.size(); ++t) {
        marginals[t * static_cast<std::size_t>(s.tags) + static_cast<std::size_t>(path[t])] +=
            std::exp(score);
      }
      if (score > largest) {
        largest = score;
        best = path;
      }
    });
    forbidden += total == 0;
    const double score = s.score(row, tagged);
    const double expected = score == -kInfinite ? score : score - std::log(total);
    const double actual = r["likelihood"].at(row);
    BOOST_TEST((actual == expected || std::abs(actual - expected) < 1e-12 * (1 - expected)),
               fmt::format("log-likelihood {} and {}", actual, expected));
    const double found = r["score"].at(row);
    BOOST_TEST((found == largest || std::abs(found - largest) < 1e-12 * (1 + std::abs(largest))),
               fmt::format("score {} and {}", found, largest));
    for (std::int64_t t = 0; t < s.time; ++t) {
      const std::int64_t tag = t < length ? best[static_cast<std::size_t>(t)] : 0;
      if (total > 0) BOOST_TEST(r["path"].at(row * s.time + t) == static_cast<double>(tag));
      for (std::int64_t k = 0; k < s.tags; ++k) {
        const double m = marginals[static_cast<std::size_t>(t * s.tags + k)];
        const double p = total > 0 ? m / total : 0;
        BOOST_TEST(std::abs(r["marginals"].at((row * s.time + t) * s.tags + k) - p) < 1e-12);
      }
    }
  }
  return forbidden;
}

BOOST_AUTO_TEST_SUITE(crfs)

BOOST_AUTO_TEST_CASE(crf_functions_equal_the_enumeration_of_all_paths) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::int64_t batch = seed % 4, time = seed / 4 % 6, tags = 1 + seed / 8 % 4;
    CrfGraph graph(DType::f64, seed % 2 == 0 ? AxisSize("tags") : AxisSize(tags));
    const CrfScores s(batch, time, tags, seed, 2);
    BOOST_TEST_CONTEXT("seed " << seed) { check_crf(s, graph.run(s.feeds())); }
  }
}

BOOST_AUTO_TEST_CASE(forbidden_transitions_and_tags_have_probability_zero) {
  int forbidden = 0, impossible = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CrfScores s(3, 4, 3, seed);
    std::mt19937 random(seed + 1000);
    for (auto* scores : {&s.emissions, &s.transitions, &s.start, &s.end}) {
      for (double& x : *scores) {
        if (random() % 3 == 0) x = -kInfinite;
      }
    }
    CrfGraph graph;
    BOOST_TEST_CONTEXT("seed " << seed) { forbidden += check_crf(s, graph.run(s.feeds())); }
    // Gradients of both orders are finite, and 0 for forbidden rows.
    const Value slope = gradient(sum(graph.likelihood), graph.emissions);
    const auto slopes = gradients(sum(graph.likelihood), graph.scores());
    const auto of_marginals = gradients(sum(square(graph.marginals)), graph.scores());
    Program p("gradients");
    p.output("likelihood", graph.likelihood).output("slope", slope);
    p.output("second", gradient(sum(square(slope)), graph.crf.transitions));
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      p.output(fmt::format("slope{}", i), slopes[i]);
      p.output(fmt::format("of_marginals{}", i), of_marginals[i]);
    }
    Session session(graph.g, {.threads = 1});
    const Results r = session.run(p, s.feeds());
    for (const auto& [name, tensor] : r) {
      if (name == "likelihood") continue;
      for (const double x : elements_of(tensor)) BOOST_REQUIRE(std::isfinite(x));
    }
    for (std::int64_t row = 0; row < 3; ++row) {
      if (std::isfinite(r["likelihood"].at(row))) continue;
      ++impossible;
      for (std::int64_t i = 0; i < 12; ++i) BOOST_REQUIRE(r["slope"].at(row * 12 + i) == 0);
    }
  }
  BOOST_TEST(forbidden > 10);
  BOOST_TEST(impossible > 20);
}

BOOST_AUTO_TEST_CASE(crf_gradients_of_first_and_second_order_equal_differences) {
  // Equal scores make all sums of equal terms.
  for (const double deviation : {1.0, 0.0}) {
    const CrfScores s(3, 5, 3, 3, deviation);
    CrfGraph graph(DType::f64, 3);
    for (const Value& output : {graph.likelihood, graph.marginals}) {
      const GradientReport report =
          check_gradients(output, graph.scores(), {.feeds = s.feeds(), .second_order = true});
      BOOST_TEST(report.passed, report);
    }
    if (deviation == 0) continue;  // several best paths
    const GradientReport report =
        check_gradients(graph.best.score, graph.scores(), {.feeds = s.feeds()});
    BOOST_TEST(report.passed, report);
  }
}

BOOST_AUTO_TEST_CASE(marginals_are_the_gradient_of_the_partition_function) {
  const CrfScores s(4, 6, 3, 9);
  CrfGraph graph(DType::f64, 3);
  // The likelihood of a path is its score minus the logarithm of the partition function.
  const Value valid = less(iota(graph.g, graph.tags.shape(), 1), unsqueeze(graph.lengths, 1));
  const Value hits = one_hot(where(valid, graph.tags, 0), 3, DType::f64);
  const Value expected = where(unsqueeze(valid, 2), hits, 0) - graph.marginals;
  Session session(graph.g, {.threads = 1});
  const Results r =
      session.run(Program("p")
                      .output("gradient", gradient(sum(graph.likelihood), graph.emissions))
                      .output("expected", expected),
                  s.feeds());
  BOOST_TEST(max_difference(r["gradient"], r["expected"]) < 1e-13);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_the_best_score_is_the_path) {
  const CrfScores s(4, 6, 3, 13);
  CrfGraph graph(DType::f64, 3);
  Session session(graph.g, {.threads = 1});
  const Results r =
      session.run(Program("p")
                      .output("gradient", gradient(sum(graph.best.score), graph.emissions))
                      .output("path", one_hot(graph.best.tags, 3, DType::f64)),
                  s.feeds());
  for (std::int64_t i = 0; i < 4 * 6 * 3; ++i) {
    const bool valid = i / 3 % 6 < s.lengths[static_cast<std::size_t>(i / 18)];
    BOOST_TEST(r["gradient"].at(i) == (valid ? r["path"].at(i) : 0));
  }
}

BOOST_AUTO_TEST_CASE(padding_of_crfs_has_no_effect_whatever_it_contains) {
  CrfScores s(3, 5, 3, 21);
  s.lengths = {4, 0, 2};
  s.paths = {0, 1, 2, 0, 7, -1, 9, 9, 9, 9, 2, 2, -100, 3, 5};
  CrfGraph graph;
  const auto run = [&] {
    Session session(graph.g, {.threads = 1});
    return session.run(
        Program("p")
            .output("likelihood", graph.likelihood)
            .output("gradient", gradient(sum(graph.likelihood) + sum(square(graph.marginals)) +
                                             sum(graph.best.score),
                                         graph.emissions))
            .output("marginals", graph.marginals)
            .output("path", graph.best.tags),
        s.feeds());
  };
  const Results clean = run();
  for (const double padding : {std::nan(""), kInfinite, -kInfinite, -1e300}) {
    for (std::size_t i = 0; i < s.emissions.size(); ++i) {
      if (static_cast<std::int64_t>(i) / 3 % 5 >= s.lengths[i / 15]) s.emissions[i] = padding;
    }
    for (const auto& [name, tensor] : run()) {
      BOOST_TEST(max_difference(tensor, clean[name]) == 0, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(two_thousand_steps_of_a_crf_lose_no_accuracy) {
  for (const double deviation : {0.1, 20.0}) {
    CrfScores s(2, 2000, 6, 17, deviation);
    s.lengths = {2000, 1999};
    for (std::int64_t& tag : s.paths) tag = std::max<std::int64_t>(tag, 0);
    for (auto* scores : {&s.emissions, &s.transitions, &s.start, &s.end}) {
      for (double& x : *scores) x = static_cast<float>(x);
    }
    CrfGraph narrow(DType::f32, 6), wide(DType::f64, 6);
    const Results a = narrow.run(s.feeds(DType::f32)), b = wide.run(s.feeds());
    BOOST_TEST(max_difference(a["path"], b["path"]) == 0);
    BOOST_TEST(max_difference(a["marginals"].to(DType::f64), b["marginals"]) < 1e-7);
    for (std::int64_t row = 0; row < 2; ++row) {
      BOOST_TEST(std::abs(a["likelihood"].at(row) / b["likelihood"].at(row) - 1) < 1e-7);
      BOOST_TEST(std::abs(a["score"].at(row) / b["score"].at(row) - 1) < 1e-7);
    }
  }
}

BOOST_AUTO_TEST_CASE(absent_lengths_and_end_scores_mean_all_steps_and_zero) {
  Graph g;
  const Value emissions = g.input("emissions", DType::f64, {2, 4, 3});
  const Value tags = g.input("tags", DType::i32, {2, 4});
  const Value transitions = g.input("transitions", DType::f64, {3, 3});
  const Value zero = zeros(g, DType::f64, {3});
  const Value four = g.constant(Tensor::of<std::int32_t>({2}, {4, 4}));
  const CrfTransitions plain{transitions}, full{transitions, zero, zero};
  const Program p = Program("p")
                        .output("a", crf_log_likelihood(emissions, tags, plain))
                        .output("b", crf_log_likelihood(emissions, tags, full, four))
                        .output("path_a", crf_viterbi(emissions, plain).tags)
                        .output("path_b", crf_viterbi(emissions, full, four).tags)
                        .output("marginals_a", crf_marginals(emissions, plain))
                        .output("marginals_b", crf_marginals(emissions, full, four));
  const CrfScores s(2, 4, 3, 5);
  Session session(g, {.threads = 1});
  const NamedTensors all = s.feeds();
  const Results r = session.run(
      p, {all[0], all[1], {"tags", Tensor::of<std::int32_t>({2, 4}, {0, 1, 2, 2, 1, 1, 0, 2})}});
  for (const char* name : {"", "path_", "marginals_"}) {
    BOOST_TEST(max_difference(r[fmt::format("{}a", name)], r[fmt::format("{}b", name)]) == 0);
  }
}

BOOST_AUTO_TEST_CASE(crf_results_do_not_depend_on_threads) {
  const CrfScores s(33, 40, 9, 29);
  CrfGraph graph;
  const Results one = graph.run(s.feeds());
  const Results several = graph.run(s.feeds(), {.threads = 3, .verify = true});
  const Results checked = graph.run(s.feeds(), {.threads = 1, .check_finite = true});
  for (const auto& [name, tensor] : one) {
    BOOST_TEST(max_difference(tensor, several[name]) == 0);
    BOOST_TEST(max_difference(tensor, checked[name]) == 0);
  }
}

BOOST_AUTO_TEST_CASE(wrong_operands_of_crfs_are_errors) {
  Graph g;
  const Value emissions = g.input("emissions", DType::f32, {"batch", "time", 4});
  const Value tags = g.input("tags", DType::i64, {"batch", "time"});
  const Value lengths = g.input("lengths", DType::i64, {"n"});
  const Value square = g.input("square", DType::f32, {4, 4});
  const Value row = g.input("row", DType::f32, {4}), short_row = g.input("short", DType::f32, {3});
  const CrfTransitions crf{square};
  const std::string here = "crf_test.cc";
  const auto error = [&]<class E>(const E*, const Value& e, const Value& t, const CrfTransitions& c,
                                  const OptionalArg& l, const std::string& message) {
    check_error<E>([&] { crf_log_likelihood(e, t, c, l); },
                   {"crf_log_likelihood: " + message, here});
  };
  const ShapeError* const shape = nullptr;
  const DTypeError* const dtype = nullptr;
  error(shape, row, tags, crf, {}, "emissions must be [batch, time, tags], but is [4]");
  error(dtype, cast(emissions, DType::f16), tags, crf, {},
        "emissions must be f32 or f64, but is f16[batch, time, 4]; use cast()");
  error(dtype, emissions, cast(tags, DType::f32), crf, {},
        "tags must be i32 or i64, but is f32[batch, time]");
  error(shape, emissions, lengths, crf, {},
        "tags must be [batch, time], one tag for each step of emissions, but is [n]");
  error(shape, emissions, tags, {row}, {}, "transitions must be [4, 4], but is [4]");
  error(shape, emissions, tags, {square, short_row}, {}, "start must be [4], but is [3]");
  error(shape, emissions, tags, {square, {}, short_row}, {}, "end must be [4], but is [3]");
  error(dtype, emissions, tags, {cast(square, DType::f64)}, {},
        "transitions must have the dtype of emissions, f32, but is f64[4, 4]");
  error(shape, emissions, tags, crf, lengths,
        "lengths must be [batch], one length for each row, but is [n]");
  error(dtype, emissions, tags, crf, row, "lengths must be i32 or i64, but is f32[4]");
  check_error<ShapeError>([&] { crf_viterbi(row, crf); }, {"crf_viterbi: emissions must be", here});
  check_error<ShapeError>([&] { crf_marginals(row, crf); },
                          {"crf_marginals: emissions must be", here});
  check_error<GraphError>([&] { crf_viterbi(emissions, {}); }, {"transitions", here});
}

BOOST_AUTO_TEST_CASE(tags_and_lengths_out_of_range_are_data_errors) {
  CrfGraph graph;
  const auto check = [&](const Path& tags, const Path& lengths, const std::string& message) {
    CrfScores s(2, 3, 4, 1);
    s.paths = tags;
    s.lengths = lengths;
    check_error<DataError>([&] { graph.run(s.feeds()); }, {message, "crf_test.cc"});
  };
  check({0, 1, 4, 0, 0, 0}, {3, 3}, "tags[0, 2] is 4, but it must be from 0 to 3");
  check({0, 1, 4, 0, -1, 0}, {2, 2}, "tags[1, 1] is -1, but it must be from 0 to 3");
  check({0, 1, 2, 0, 0, 0}, {3, 5}, "lengths[1] is 5, but it must be from 0 to 3");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
