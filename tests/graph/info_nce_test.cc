// info_nce: values against plain loops, special cases, gradients and error messages. test_golden
// compares it with PyTorch.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
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

/// Returns the cosine of two rows of width d.
double cosine(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j, std::int64_t d) {
  double dot = 0, aa = 0, bb = 0;
  for (std::int64_t k = 0; k < d; ++k) {
    const double x = a.at(i * d + k), y = b.at(j * d + k);
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / std::sqrt(aa * bb);
}

BOOST_AUTO_TEST_SUITE(info_nce_loss)

BOOST_AUTO_TEST_CASE(losses_match_loops_over_positives_and_negatives) {
  constexpr std::int64_t kRows = 5, kWidth = 7, kMore = 3;
  const Tensor q = sample_uniform({kRows, kWidth}, 1).to(DType::f64);
  const Tensor k = sample_uniform({kRows, kWidth}, 2).to(DType::f64);
  for (const bool own : {false, true}) {
    for (const bool in_batch : {false, true}) {
      const Sizes sizes = own ? Sizes{kRows, kMore, kWidth} : Sizes{kMore, kWidth};
      const Tensor more = sample_uniform(sizes, 3).to(DType::f64);
      Graph g;
      const Value loss = info_nce(g.constant(q), g.constant(k),
                                  {.negatives = g.constant(more),
                                   .in_batch = in_batch,
                                   .temperature = 0.2,
                                   .reduction = Reduction::none});
      const Tensor got = evaluate_graph({loss}, {})[0];
      BOOST_TEST(got.type_str() == "f64[5]");
      for (std::int64_t i = 0; i < kRows; ++i) {
        const double positive = std::exp(cosine(q, i, k, i, kWidth) / 0.2);
        double total = positive;
        for (std::int64_t j = 0; in_batch && j < kRows; ++j) {
          if (j != i) total += std::exp(cosine(q, i, k, j, kWidth) / 0.2);
        }
        for (std::int64_t j = 0; j < kMore; ++j) {
          total += std::exp(cosine(q, i, more, own ? i * kMore + j : j, kWidth) / 0.2);
        }
        BOOST_TEST(std::abs(got.at(i) + std::log(positive / total)) < 1e-13);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(excluded_keys_are_no_negatives_and_get_no_gradient) {
  constexpr std::int64_t kRows = 4, kWidth = 5;
  const Tensor q = sample_uniform({kRows, kWidth}, 1).to(DType::f64);
  const Tensor k = sample_uniform({kRows, kWidth}, 2).to(DType::f64);
  for (const std::int64_t more : {0, 3}) {
    const Tensor negatives = sample_uniform({more, kWidth}, 3).to(DType::f64);
    const std::int64_t columns = kRows + more;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(kRows * columns));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0;
    for (std::int64_t i = 0; i < kRows; ++i)  // the first row has its positive only
      bits[static_cast<std::size_t>(i * columns + i)] = 1;
    std::fill_n(bits.begin(), columns, 1);
    const Tensor excluded = Tensor::of({kRows, columns}, bits).to(DType::boolean);
    Graph g;
    const Value a = g.input("a", DType::f64, {kRows, kWidth}),
                b = g.input("b", DType::f64, {kRows, kWidth});
    InfoNceOptions options{
        .excluded = g.constant(excluded), .temperature = 0.2, .reduction = Reduction::none};
    if (more > 0) options.negatives = g.constant(negatives);
    const Value loss = info_nce(a, b, options);
    const auto grads = gradients(sum(loss), {a});
    const auto got = evaluate_graph({loss, grads[0]}, {{a, q}, {b, k}});
    for (std::int64_t i = 0; i < kRows; ++i) {
      const double positive = std::exp(cosine(q, i, k, i, kWidth) / 0.2);
      double total = positive;
      for (std::int64_t j = 0; j < columns; ++j) {
        if (j == i || bits[static_cast<std::size_t>(i * columns + j)] != 0) continue;
        total += std::exp(
            (j < kRows ? cosine(q, i, k, j, kWidth) : cosine(q, i, negatives, j - kRows, kWidth)) /
            0.2);
      }
      BOOST_TEST(std::abs(got[0].at(i) + std::log(positive / total)) < 1e-13);
    }
    for (std::int64_t d = 0; d < kWidth; ++d) BOOST_TEST(got[1].at(d) == 0);
    BOOST_TEST(check_gradients(
        loss, {a, b},
        {.feeds = {{"a", q.to(DType::f32)}, {"b", k.to(DType::f32)}}, .second_order = true}));
  }
}

BOOST_AUTO_TEST_CASE(gradients_reach_vectors_negatives_and_a_learned_temperature) {
  for (const bool normalize : {false, true}) {
    for (const bool symmetric : {false, true}) {
      for (const Sizes& sizes : {Sizes{}, {2, 4}, {3, 2, 4}}) {
        if (symmetric && !sizes.empty()) continue;
        Graph g;
        const Value q = g.input("q", DType::f64, {3, 4}), k = g.input("k", DType::f64, {3, 4});
        const Value s = g.input("s", DType::f64, {});
        std::vector<Value> wrt = {q, k, s};
        GradientCheckOptions check{.feeds = {{"q", sample_uniform({3, 4}, 1)},
                                             {"k", sample_uniform({3, 4}, 2)},
                                             {"s", Tensor::scalar(DType::f64, 0.5)}},
                                   .second_order = true};
        InfoNceOptions options{
            .temperature = exp(-s), .normalize = normalize, .symmetric = symmetric};
        if (!sizes.empty()) {
          const Value more = g.input("more", {DType::f64, Shape(sizes)});
          options.negatives = more;
          wrt.push_back(more);
          check.feeds.emplace_back("more", sample_uniform(sizes, 3));
        }
        BOOST_TEST(check_gradients(info_nce(q, k, options), wrt, check));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_symmetric_loss_averages_both_directions) {
  Graph g;
  const Value q = g.input("q", DType::f64, {"n", "d"}), k = g.input("k", DType::f64, {"n", "d"});
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean,
                                    Reduction::batch_mean, Reduction::shard_mean}) {
    const auto loss = [&](const Value& a, const Value& b, bool symmetric) {
      return info_nce(a, b, {.symmetric = symmetric, .reduction = reduction});
    };
    const auto r = evaluate_graph({loss(q, k, true), 0.5 * (loss(q, k, false) + loss(k, q, false))},
                                  {{q, sample_uniform({4, 6}, 1).to(DType::f64)},
                                   {k, sample_uniform({4, 6}, 2).to(DType::f64)}});
    BOOST_TEST(max_difference(r[0], r[1]) < 1e-14);
  }
}

BOOST_AUTO_TEST_CASE(a_single_row_has_no_negatives_and_zero_rows_give_no_losses) {
  Graph g;
  const Value q = g.input("q", DType::f32, {"n", 3}), k = g.input("k", DType::f32, {"n", 3});
  const Value none = g.input("none", DType::f32, {"m", 3});
  const Program p =
      Program("p")
          .output("plain", info_nce(q, k, {.reduction = Reduction::none}))
          .output("both", info_nce(q, k, {.symmetric = true, .reduction = Reduction::none}))
          .output(
              "queue",
              info_nce(q, k, {.negatives = none, .in_batch = false, .reduction = Reduction::none}));
  Session session(g);
  for (const std::int64_t n : {0, 1}) {
    const Results r = session.run(p, {{"q", sample_uniform({n, 3}, 1)},
                                      {"k", sample_uniform({n, 3}, 2)},
                                      {"none", Tensor::zeros(DType::f32, {0, 3})}});
    for (const char* name : {"plain", "both", "queue"}) {
      BOOST_TEST(r[name].numel() == n);
      for (std::int64_t i = 0; i < n; ++i) BOOST_TEST(std::abs(r[name].at(i)) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(large_scores_and_zero_vectors_give_finite_losses_and_gradients) {
  for (const bool normalize : {false, true}) {
    Graph g;
    const Value q = g.input("q", DType::f32, {3, 2}), k = g.input("k", DType::f32, {3, 2});
    const Value loss = info_nce(q, k,
                                {.temperature = 1e-4,
                                 .normalize = normalize,
                                 .symmetric = true,
                                 .reduction = Reduction::none});
    const auto grads = gradients(sum(loss), {q, k});
    // Each query equals its own key. The rows are orthogonal or opposite.
    const Tensor rows = Tensor::of<float>({3, 2}, {300, 0, 0, 300, -300, 0});
    const auto r = evaluate_graph({loss, grads[0], grads[1]}, {{q, rows}, {k, rows}});
    for (int i = 0; i < 3; ++i) BOOST_TEST(r[0].at(i) == 0);
    for (int i = 0; i < 6; ++i) BOOST_TEST((r[1].at(i) == 0 && r[2].at(i) == 0));
    Tensor with_zero = rows.clone();
    for (int i = 0; i < 2; ++i) with_zero.mutable_data<float>()[i] = 0;
    for (const Tensor& t :
         evaluate_graph({loss, grads[0], grads[1]}, {{q, with_zero}, {k, rows}})) {
      for (std::int64_t i = 0; i < t.numel(); ++i) BOOST_TEST(std::isfinite(t.at(i)));
    }
  }
}

BOOST_AUTO_TEST_CASE(scores_of_queries_and_keys_are_not_stored) {
  Graph g;
  const Value q = g.input("q", DType::f32, {4096, 16}), k = g.input("k", DType::f32, {4096, 16});
  const Value more = g.input("more", DType::f32, {4096, 16});
  const Value loss = info_nce(q, k, {.negatives = more});
  const auto grads = gradients(loss, {q, k});
  Session session(g, {.threads = 1});
  const auto plan =
      session.plan(Program("p").output("loss", loss).output("dq", grads[0]).output("dk", grads[1]),
                   {{"q", {4096, 16}}, {"k", {4096, 16}}, {"more", {4096, 16}}});
  BOOST_TEST(plan->memory().arena < std::size_t{4096} * 8192 * 4 * 3 / 4);
}

BOOST_AUTO_TEST_CASE(errors_name_operands_options_and_line) {
  Graph g;
  const Value q = g.input("q", DType::f32, {"n", 4}), k = g.input("k", DType::f32, {"m", 4});
  const Value wide = g.input("wide", DType::f32, {"n", 5}),
              more = g.input("more", DType::f32, {7, 4});
  const auto error = [](const std::function<void()>& build, const std::string& part) {
    BOOST_CHECK_EXCEPTION(build(), Error, message_contains({"info_nce", part, "info_nce_test.cc"}));
  };
  const std::string keys = "keys must have the dtype and shape of queries, f32[n, 4], but are ";
  error([&] { info_nce(q, k); }, keys + "f32[m, 4]");
  error([&] { info_nce(q, wide); }, keys + "f32[n, 5]");
  error([&] { info_nce(q, cast(q, DType::f64)); }, keys + "f64[n, 4]");
  error([&] { info_nce(unsqueeze(q, 0), q); }, "queries must be [n, d], but are [1, n, 4]");
  error([&] { info_nce(cast(q, DType::i64), q); }, "queries must be f32 or f64, but are i64");
  const std::string negatives = "negatives must be f32 [m, 4] or [n, m, 4], but are ";
  error([&] { info_nce(q, q, {.negatives = wide}); }, negatives + "f32[n, 5]");
  error([&] { info_nce(q, q, {.negatives = unsqueeze(more, 0)}); }, negatives + "f32[1, 7, 4]");
  error([&] { info_nce(q, q, {.negatives = cast(more, DType::f64)}); }, negatives + "f64[7, 4]");
  error([&] { info_nce(q, q, {.negatives = more, .symmetric = true}); },
        "symmetric cannot be combined with negatives");
  error([&] { info_nce(q, q, {.in_batch = false}); },
        "in_batch is false, so negatives are required");
  const Value square =
      equal(unsqueeze(select(q, 1, Dim(0)), 1), unsqueeze(select(q, 1, Dim(0)), 0));
  error([&] { info_nce(q, q, {.negatives = more, .excluded = square}); },
        "excluded must be bool[n, n + 7], but is bool[n, n]");
  error([&] { info_nce(q, q, {.excluded = q}); }, "excluded must be bool[n, n], but is f32[n, 4]");
  error([&] { info_nce(q, q, {.negatives = more, .excluded = square, .in_batch = false}); },
        "excluded requires in_batch");
  error([&] { info_nce(q, q, {.temperature = 0}); }, "temperature must be positive, but is 0");
  error([&] { info_nce(q, q, {.temperature = -0.5}); },
        "temperature must be positive, but is -0.5");
  error([&] { info_nce(q, q, {.temperature = NAN}); }, "temperature must be positive, but is nan");
  error([&] { info_nce(q, q, {.temperature = q}); },
        "temperature must be a number or f32[], but is f32[n, 4]");
  error([&] { info_nce(q, q, {.temperature = g.scalar(DType::f64, 1)}); },
        "temperature must be a number or f32[], but is f64[]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
