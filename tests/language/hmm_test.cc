// Hidden Markov models compared with sums over all paths.
#include "weft/models/language/hmm.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/numbers.h"

namespace weft {
namespace {

constexpr int kStates = 3, kSymbols = 4;

struct Probabilities {
  std::vector<double> start, transition, emission;  // probabilities
};

std::vector<double> rows(int count, int width, double seed) {
  std::vector<double> p;
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    for (int j = 0; j < width; ++j) {
      p.push_back(0.2 + std::abs(std::sin(seed + 3.1 * i + 1.7 * j)));
      sum += p.back();
    }
    for (int j = 0; j < width; ++j) p[p.size() - 1 - static_cast<std::size_t>(j)] /= sum;
  }
  return p;
}

Probabilities model() {
  return {rows(1, kStates, 1), rows(kStates, kStates, 2), rows(kStates, kSymbols, 3)};
}

// Probability, expected counts and best path, computed by enumerating all paths.
struct PathEnumeration {
  double probability = 0;
  Probabilities counts{std::vector<double>(kStates), std::vector<double>(kStates* kStates),
                       std::vector<double>(kStates* kSymbols)};
  std::vector<int> best;
};

PathEnumeration enumerate(const Probabilities& m, const std::vector<int>& symbols) {
  PathEnumeration enumeration;
  const int n = static_cast<int>(symbols.size());
  const int paths = static_cast<int>(std::pow(kStates, n) + 0.5);
  double best = -1;
  for (int path = 0; path < paths; ++path) {
    std::vector<int> states;
    for (int t = 0, rest = path; t < n; ++t, rest /= kStates) states.push_back(rest % kStates);
    double p = 1;
    const auto visit = [&](auto&& use) {
      use(m.start, enumeration.counts.start, states[0]);
      for (int t = 0; t < n; ++t) {
        if (t > 0)
          use(m.transition, enumeration.counts.transition, states[t - 1] * kStates + states[t]);
        use(m.emission, enumeration.counts.emission, states[t] * kSymbols + symbols[t]);
      }
    };
    visit([&](const std::vector<double>& from, std::vector<double>&, int i) { p *= from[i]; });
    visit([&](const std::vector<double>&, std::vector<double>& to, int i) { to[i] += p; });
    enumeration.probability += p;
    if (p > best) {
      best = p;
      enumeration.best = states;
    }
  }
  for (auto* list :
       {&enumeration.counts.start, &enumeration.counts.transition, &enumeration.counts.emission}) {
    for (double& x : *list) x /= enumeration.probability;
  }
  return enumeration;
}

Tensor logs(const Sizes& sizes, std::vector<double> p) {
  for (double& x : p) x = std::log(x);
  return Tensor::of<double>(sizes, p);
}

struct Fixture {
  Graph g;
  Value start = g.input("start", DType::f64, {kStates});
  Value transition = g.input("transition", DType::f64, {kStates, kStates});
  Value emission = g.input("emission", DType::f64, {kStates, kSymbols});
  Value symbols = g.input("symbols", DType::i32, {"batch", "time"});
  Value lengths = g.input("lengths", DType::i32, {"batch"});
  HmmParameters p{start, transition, emission};
  const std::vector<std::vector<int>> texts = {{0, 3, 1, 2, 1}, {2, 2, 1}, {1}};

  NamedTensors feeds(const Probabilities& m) const {
    std::vector<int> ids, sizes;
    for (const auto& text : texts) {
      sizes.push_back(static_cast<int>(text.size()));
      for (std::size_t t = 0; t < 5; ++t) ids.push_back(t < text.size() ? text[t] : 0);
    }
    return {{"start", logs({kStates}, m.start)},
            {"transition", logs({kStates, kStates}, m.transition)},
            {"emission", logs({kStates, kSymbols}, m.emission)},
            {"symbols", Tensor::of<int>({3, 5}, ids)},
            {"lengths", Tensor::of<int>({3}, sizes)}};
  }
};

void check_close(const Tensor& a, const std::vector<double>& b) {
  BOOST_REQUIRE(static_cast<std::size_t>(a.numel()) == b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    BOOST_TEST(std::abs(a.at(static_cast<std::int64_t>(i)) - b[i]) < 1e-12);
  }
}

BOOST_FIXTURE_TEST_SUITE(hidden_markov, Fixture)

BOOST_AUTO_TEST_CASE(the_likelihood_and_its_gradient_equal_sums_over_all_paths) {
  const Value l = hmm_log_likelihood(p, symbols, {.lengths = lengths});
  const auto counts = gradients(sum(l), {start, transition, emission});
  Program program("hmm");
  program.output("l", l).output("start", counts[0]);
  program.output("transition", counts[1]).output("emission", counts[2]);
  Session session(g, {.threads = 1, .verify = true});
  const Results r = session.run(program, feeds(model()));
  Probabilities expected = PathEnumeration().counts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const PathEnumeration enumeration = enumerate(model(), texts[i]);
    BOOST_TEST(std::abs(r["l"].at(static_cast<std::int64_t>(i)) -
                        std::log(enumeration.probability)) < 1e-12);
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
    };
    add(expected.start, enumeration.counts.start);
    add(expected.transition, enumeration.counts.transition);
    add(expected.emission, enumeration.counts.emission);
  }
  check_close(r["start"], expected.start);
  check_close(r["transition"], expected.transition);
  check_close(r["emission"], expected.emission);
}

BOOST_AUTO_TEST_CASE(the_gradient_step_equals_baum_welch_and_increases_the_likelihood) {
  const Value l = sum(hmm_log_likelihood(p, symbols, {.lengths = lengths}));
  const HmmParameters next = hmm_m_step(gradients(l, {start, transition, emission}));
  Program program("step");
  program.output("l", l).output("start", exp(next.start));
  program.output("transition", exp(next.transition)).output("emission", exp(next.emission));
  Session session(g, {.threads = 1});
  Probabilities m = model();
  double last = -1e9;
  for (int step = 0; step < 8; ++step) {
    // The Baum-Welch update, computed by counting along all paths.
    Probabilities counts = PathEnumeration().counts;
    for (const auto& text : texts) {
      const PathEnumeration enumeration = enumerate(m, text);
      for (std::size_t k = 0; k < counts.start.size(); ++k)
        counts.start[k] += enumeration.counts.start[k];
      for (std::size_t k = 0; k < counts.transition.size(); ++k)
        counts.transition[k] += enumeration.counts.transition[k];
      for (std::size_t k = 0; k < counts.emission.size(); ++k)
        counts.emission[k] += enumeration.counts.emission[k];
    }
    const auto normalise = [](std::vector<double>& v, int width) {
      for (std::size_t row = 0; row < v.size(); row += static_cast<std::size_t>(width)) {
        double sum = 0;
        for (int j = 0; j < width; ++j) sum += v[row + static_cast<std::size_t>(j)];
        for (int j = 0; j < width; ++j) v[row + static_cast<std::size_t>(j)] /= sum;
      }
    };
    normalise(counts.start, kStates);
    normalise(counts.transition, kStates);
    normalise(counts.emission, kSymbols);
    const Results r = session.run(program, feeds(m));
    check_close(r["start"], counts.start);
    check_close(r["transition"], counts.transition);
    check_close(r["emission"], counts.emission);
    BOOST_TEST(r["l"].at(0) > last);
    last = r["l"].at(0);
    m = {r["start"].to_vector<double>(), r["transition"].to_vector<double>(),
         r["emission"].to_vector<double>()};
  }
}

BOOST_AUTO_TEST_CASE(the_best_path_maximises_the_probability) {
  Session session(g, {.threads = 1, .verify = true});
  const Value path = hmm_best_path(p, symbols, {.lengths = lengths});
  const Tensor states = session.run(Program("path").output("p", path), feeds(model()))["p"];
  BOOST_TEST(states.sizes() == (Sizes{3, 5}), boost::test_tools::per_element());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const PathEnumeration enumeration = enumerate(model(), texts[i]);
    for (std::size_t t = 0; t < 5; ++t) {
      const int wanted = t < texts[i].size() ? enumeration.best[t] : 0;
      BOOST_TEST(states.at(static_cast<std::int64_t>(i * 5 + t)) == wanted);
    }
  }
}

BOOST_AUTO_TEST_CASE(invalid_hmm_arguments_are_rejected) {
  testing::check_error<ShapeError>(
      [&] { hmm_log_likelihood(p, lengths); },
      {"hmm_log_likelihood: symbols must be [batch, time], but are i32[batch]"});
  testing::check_error<ShapeError>(
      [&] {
        hmm_best_path({start, emission, emission}, symbols);
      },
      {"hmm_best_path: transition must be [3, 3], but is f64[3, 4]"});
  testing::check_error<ArgumentError>(
      [&] { hmm_m_step({start}); },
      {"hmm_m_step requires three tensors of counts, but 1 were passed"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
