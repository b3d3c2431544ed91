// CTC decoders, compared with an exhaustive search.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/generate/ctc_decode.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

Tensor random_logits(const Sizes& sizes, unsigned seed, double deviation = 1.5) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<double> x(static_cast<std::size_t>(num_elements(sizes)));
  for (double& v : x) v = normal(random);
  return Tensor::of<double>(sizes, x);
}

// Returns the probabilities of all sequences of ids: the sums over their alignments.
std::map<TokenIds, double> all_sequences(const Tensor& logits, std::int64_t row, std::int64_t steps,
                                         std::int64_t blank) {
  const std::int64_t classes = logits.size(2);
  std::int64_t alignments = 1;
  for (std::int64_t t = 0; t < steps; ++t) alignments *= classes;
  std::map<TokenIds, double> sequences;
  for (std::int64_t a = 0; a < alignments; ++a) {
    TokenIds ids;
    double p = 1;
    std::int64_t before = blank, rest = a;
    for (std::int64_t t = 0; t < steps; ++t, rest /= classes) {
      const std::int64_t begin = (row * logits.size(1) + t) * classes, c = rest % classes;
      double total = 0;
      for (std::int64_t k = 0; k < classes; ++k) total += std::exp(logits.at(begin + k));
      p *= std::exp(logits.at(begin + c)) / total;
      if (c != blank && c != before) ids.push_back(c);
      before = c;
    }
    sequences[ids] += p;
  }
  return sequences;
}

// A language model: the score depends on the last two ids.
double pair_score(std::span<const std::int64_t> prefix, std::optional<std::int64_t> next) {
  const std::int64_t last = prefix.empty() ? 7 : prefix.back();
  return -std::abs(std::sin(static_cast<double>(last * 3 + next.value_or(11))));
}

double total_score(const TokenIds& ids) {
  double sum = 0;
  for (std::size_t i = 0; i <= ids.size(); ++i) {
    const std::span<const std::int64_t> prefix(ids.data(), i);
    sum += pair_score(prefix, i < ids.size() ? std::optional(ids[i]) : std::nullopt);
  }
  return sum;
}

BOOST_AUTO_TEST_SUITE(ctc_decoding)

BOOST_AUTO_TEST_CASE(a_wide_beam_equals_the_exhaustive_search) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::int64_t classes = 2 + seed % 3, time = seed % 6, blank = seed % classes;
    const Tensor logits = random_logits({2, time, classes}, seed);
    const std::vector<std::int64_t> lengths = {time, time / 2};
    for (const bool scored : {false, true}) {
      CtcBeamOptions options{.blank = blank, .beams = 2000, .results = 2000};
      if (scored) {
        options.scorer = pair_score;
        options.scorer_weight = 0.7;
        options.length_bonus = 0.4;
      }
      const auto rows =
          ctc_prefix_beam_search(logits, Tensor::of<std::int64_t>({2}, lengths), options);
      BOOST_REQUIRE(rows.size() == 2U);
      for (std::int64_t row = 0; row < 2; ++row) {
        const auto& found = rows[static_cast<std::size_t>(row)];
        const auto expected =
            all_sequences(logits, row, lengths[static_cast<std::size_t>(row)], blank);
        BOOST_TEST(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          const CtcHypothesis& h = found[i];
          BOOST_TEST_REQUIRE(expected.count(h.ids) == 1U);
          const double log_p = std::log(expected.at(h.ids));
          BOOST_TEST(std::abs(h.log_probability - log_p) < 1e-12);
          const double bonus =
              scored ? 0.7 * total_score(h.ids) + 0.4 * static_cast<double>(h.ids.size()) : 0;
          BOOST_TEST(std::abs(h.score - (log_p + bonus)) < 1e-12);
          if (i > 0) BOOST_TEST(h.score <= found[i - 1].score);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(prefixes_that_return_to_the_beam_are_not_duplicated) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Tensor logits = random_logits({1, 12, 3}, seed, 0.7);
    const auto found =
        ctc_prefix_beam_search(logits, {}, {.beams = 1 + seed % 5, .results = 1 + seed % 5})[0];
    std::map<TokenIds, int> counts;
    for (const CtcHypothesis& h : found) BOOST_TEST(++counts[h.ids] == 1);
    // The search never overestimates a probability.
    const auto expected =
        seed < 20 ? all_sequences(logits, 0, 12, 0) : std::map<TokenIds, double>();
    for (const CtcHypothesis& h : found) {
      if (!expected.empty()) BOOST_TEST(std::exp(h.log_probability) <= expected.at(h.ids) + 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(beam_search_sums_alignments_and_greedy_search_does_not) {
  // The best alignment is blank, blank, with probability 0.36; id 1 has 0.64 with three alignments.
  const double b = std::log(0.6), a = std::log(0.4);
  const Tensor logits = Tensor::of<double>({1, 2, 2}, {b, a, b, a});
  const CtcHypothesis greedy = ctc_greedy_decode(logits)[0];
  BOOST_TEST(greedy.ids.empty());
  BOOST_TEST(std::abs(greedy.score - std::log(0.36)) < 1e-12);
  const CtcHypothesis best = ctc_prefix_beam_search(logits)[0][0];
  BOOST_TEST((best.ids == TokenIds{1}));
  BOOST_TEST(std::abs(best.score - std::log(0.64)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(greedy_decoding_of_tensors_equals_decoding_in_the_graph) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::int64_t batch = seed % 4, time = seed % 7, classes = 1 + seed % 5;
    const std::int64_t blank = seed % classes;
    const Tensor logits = random_logits({batch, time, classes}, seed).to(DType::f32);
    std::vector<std::int32_t> lengths;
    for (std::int64_t row = 0; row < batch; ++row) {
      lengths.push_back(static_cast<std::int32_t>((row * 3 + seed) % (time + 1)));
    }
    const Tensor steps = Tensor::of<std::int32_t>({batch}, lengths);
    Graph g;
    const Value x = g.input("x", DType::f32, {"batch", "time", "classes"});
    const CtcDecoded decoded = ctc_greedy_decode(x, g.input("steps", DType::i32, {"batch"}), blank);
    Session session(g, {.threads = 1});
    const Results r =
        session.run(Program("p").output("ids", decoded.ids).output("lengths", decoded.lengths),
                    {{"x", logits}, {"steps", steps}});
    const auto rows = ctc_greedy_decode(logits, steps, blank);
    for (std::int64_t row = 0; row < batch; ++row) {
      const TokenIds& ids = rows[static_cast<std::size_t>(row)].ids;
      BOOST_TEST_REQUIRE(r["lengths"].at(row) == static_cast<double>(ids.size()));
      for (std::int64_t t = 0; t < time; ++t) {
        const bool valid = t < std::ssize(ids);
        BOOST_TEST(r["ids"].at(row * time + t) ==
                   (valid ? static_cast<double>(ids[static_cast<std::size_t>(t)]) : 0.0));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(top_classes_restrict_the_ids_of_a_step) {
  const Tensor logits = random_logits({3, 8, 6}, 5);
  const auto search = [&](std::int64_t top) {
    return ctc_prefix_beam_search(logits, {},
                                  {.blank = 2, .beams = 500, .results = 1, .top_classes = top});
  };
  for (std::size_t row = 0; row < 3; ++row) {
    // Five classes and the blank are all classes.
    for (const std::int64_t top : {5, 6, 100}) {
      BOOST_TEST((search(top)[row][0].ids == search(0)[row][0].ids));
      BOOST_TEST(search(top)[row][0].score == search(0)[row][0].score);
    }
    // With one class per step, every id is the most probable one of some step.
    const TokenIds restricted = search(1)[row][0].ids;
    for (const std::int64_t id : restricted) {
      bool found = false;
      for (std::int64_t t = 0; t < 8; ++t) {
        std::int64_t best = -1;
        for (std::int64_t k = 0; k < 6; ++k) {
          const auto at = [&](std::int64_t c) {
            return logits.at((static_cast<std::int64_t>(row) * 8 + t) * 6 + c);
          };
          if (k != 2 && (best < 0 || at(k) > at(best))) best = k;
        }
        found = found || best == id;
      }
      BOOST_TEST(found);
    }
  }
}

BOOST_AUTO_TEST_CASE(classes_of_probability_zero_and_empty_rows_are_decoded) {
  const Tensor logits =
      Tensor::of<double>({1, 2, 3}, {-kUnbounded, 0, -kUnbounded, -kUnbounded, -kUnbounded, 0});
  const auto all = ctc_prefix_beam_search(logits, {}, {.beams = 9, .results = 9})[0];
  BOOST_TEST(all.size() == 1U);
  BOOST_TEST((all[0].ids == TokenIds{1, 2}));
  BOOST_TEST(all[0].log_probability == 0);
  const auto empty = ctc_prefix_beam_search(logits, Tensor::of<std::int32_t>({1}, {0}), {})[0];
  BOOST_TEST(empty.size() == 1U);
  BOOST_TEST(empty[0].ids.empty());
  BOOST_TEST(empty[0].score == 0);
  BOOST_TEST(ctc_prefix_beam_search(Tensor::zeros(DType::f32, {0, 4, 3})).empty());
  BOOST_TEST(ctc_greedy_decode(Tensor::zeros(DType::f32, {2, 0, 3}))[1].ids.empty());
  // A scorer may exclude ids.
  const auto never_two = [](std::span<const std::int64_t>, std::optional<std::int64_t> next) {
    return next == 2 ? -kUnbounded : 0.0;
  };
  const auto rest = ctc_prefix_beam_search(random_logits({1, 5, 3}, 1), {},
                                           {.results = 50, .scorer = never_two})[0];
  BOOST_TEST(rest.size() == 4U);  // zero to three times id 1
  for (const CtcHypothesis& h : rest) {
    BOOST_TEST(std::count(h.ids.begin(), h.ids.end(), 2) == 0);
  }
}

BOOST_AUTO_TEST_CASE(wrong_arguments_of_decoders_are_errors) {
  const Tensor logits = Tensor::zeros(DType::f32, {2, 3, 4});
  const auto beam = [&](CtcBeamOptions options) {
    return [&logits, options] { ctc_prefix_beam_search(logits, {}, options); };
  };
  const std::string search = "ctc_prefix_beam_search: ";
  check_error<ArgumentError>(beam({.beams = 0}), {search + "beams is 0, but must be at least 1"});
  check_error<ArgumentError>(beam({.results = 0}),
                             {search + "results is 0, but must be at least 1"});
  check_error<ArgumentError>(beam({.beams = 2, .results = 3}),
                             {search + "results is 3, but must be at most `beams`"});
  check_error<ArgumentError>(beam({.top_classes = -1}),
                             {search + "top_classes is -1, but must be 0 or positive"});
  check_error<ArgumentError>(beam({.scorer_weight = kUnbounded}),
                             {search + "scorer_weight inf and length_bonus 0 must be finite"});
  check_error<ArgumentError>(beam({.blank = 4}),
                             {search + "blank is 4, but must be one of the 4 classes of logits"});
  const auto nan = [](std::span<const std::int64_t>, std::optional<std::int64_t>) {
    return std::nan("");
  };
  check_error<ArgumentError>(beam({.scorer = nan}),
                             {search + "the scorer returned NaN for id 1 after 0 ids"});
  const std::string greedy = "ctc_greedy_decode: ";
  check_error<ShapeError>(
      [] {
        ctc_greedy_decode(Tensor::zeros(DType::f32, {3, 4}));
      },
      {greedy + "logits must be [batch, time, classes], but are [3, 4]"});
  check_error<ShapeError>([] { ctc_greedy_decode(Tensor()); }, {"but are undefined"});
  check_error<DTypeError>(
      [] {
        ctc_greedy_decode(Tensor::zeros(DType::i32, {2, 3, 4}));
      },
      {greedy + "logits must be f32 or f64, but are i32"});
  check_error<DTypeError>([&] { ctc_greedy_decode(logits, Tensor::zeros(DType::f32, {2})); },
                          {greedy + "input_lengths must be i32 or i64, but are f32"});
  check_error<ShapeError>(
      [&] { ctc_greedy_decode(logits, Tensor::zeros(DType::i32, {3})); },
      {greedy + "input_lengths must be [2], one length for each row, but are [3]"});
  check_error<DataError>(
      [&] {
        ctc_greedy_decode(logits, Tensor::of<std::int32_t>({2}, {3, 4}));
      },
      {greedy + "input_lengths[1] is 4, but it must be from 0 to 3"});
  for (const double bad : {std::nan(""), kUnbounded}) {
    Tensor x = Tensor::zeros(DType::f32, {2, 3, 4});
    x.mutable_data<float>()[12 + 4 + 1] = static_cast<float>(bad);
    check_error<DataError>(
        [&] { ctc_prefix_beam_search(x); },
        {search + "the logits of row 1, step 1 have no softmax: they contain NaN "
                  "or +inf, or all are -inf"});
  }
  check_error<DataError>(
      [] {
        ctc_greedy_decode(Tensor::full(DType::f64, {1, 1, 2}, -kUnbounded));
      },
      {"row 0, step 0 have no softmax"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
