#include "weft/models/vectors/glove.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "texts.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/vectors/co_occurrence.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

std::int64_t row_of(const SparseMatrix& m, std::int64_t element) {
  std::int64_t row = 0;
  while (m.end(row) <= element) ++row;
  return row;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(glove)

BOOST_AUTO_TEST_CASE(co_occurrences_are_counted_by_distance_within_sentences) {
  const WordText text = text_of({"a b c b", "a a", "c"});
  const auto number = [&](const char* word) { return text.counts.find(word); };
  const auto at = [&](const SparseMatrix& m, const char* row, const char* column) {
    double found = 0;
    for (std::int64_t i = m.begin(number(row)); i < m.end(number(row)); ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (m.column[k] == number(column)) found += m.value[k];
    }
    return found;
  };
  Workers workers({.threads = 2});
  const SparseMatrix near = co_occurrences(text, {.window = 2}, workers);
  BOOST_TEST(at(near, "a", "b") == 1);
  BOOST_TEST(at(near, "b", "a") == 1);
  BOOST_TEST(at(near, "a", "c") == 0.5);
  BOOST_TEST(at(near, "b", "c") == 2);
  BOOST_TEST(at(near, "b", "b") == 1);  // each of two occurrences counts 1/2 for the other
  BOOST_TEST(at(near, "a", "a") == 2);
  BOOST_TEST(at(near, "c", "c") == 0);
  const SparseMatrix flat = co_occurrences(text, {.window = 3, .by_distance = false}, workers);
  BOOST_TEST(at(flat, "a", "b") == 2);
  std::atomic<std::int64_t> max_count = 0;
  const auto note = [&](std::int64_t elements) {
    for (std::int64_t seen = max_count;
         seen < elements && !max_count.compare_exchange_weak(seen, elements);) {
    }
  };
  co_occurrences(text, {.window = 2, .check = note}, workers);
  BOOST_TEST(max_count == std::ssize(near.value));
  const auto reject = [](std::int64_t) { throw StateError("too many"); };
  check_error<StateError>([&] { co_occurrences(text, {.check = reject}, workers); }, {"too many"});
  check_error<ArgumentError>([&] { co_occurrences(text, {.window = 0}, workers); },
                             {"the window must be at least 1"});
}

// Compares the first steps with AdaGrad, applied to the gradient that a graph computes for the same
// matrix elements. AdaGrad's sums of squares start at 1.
BOOST_AUTO_TEST_CASE(steps_equal_adagrad_on_the_graph_gradient) {
  const WordText text = text_of(two_topics(20, 1));
  Workers workers({.threads = 2});
  const SparseMatrix counts = co_occurrences(text, {.window = 3}, workers);
  const GloveOptions options{.width = 5, .epochs = 4, .rate = 0.5, .max_count = 4};
  Glove model(counts, options);
  BOOST_REQUIRE(model.steps() > 1);
  std::vector<double> squares(static_cast<std::size_t>(counts.rows * 7), 1);
  for (int step = 0; step < 2; ++step) {
    std::vector<std::int32_t> i, j;
    std::vector<float> logs, weights;
    double cost = 0;
    const auto elements = model.elements(model.step());
    for (const std::int64_t e : elements) {
      const double x = counts.value[static_cast<std::size_t>(e)];
      i.push_back(static_cast<std::int32_t>(row_of(counts, e)));
      j.push_back(counts.column[static_cast<std::size_t>(e)]);
      logs.push_back(static_cast<float>(std::log(x)));
      weights.push_back(static_cast<float>(x < 4 ? std::pow(x / 4, 0.75) : 1));
      cost += model.cost(e);
    }
    const std::int64_t n = std::ssize(i);
    Graph g;
    const Value w = g.input("w", DType::f32, {counts.rows, 7}),
                c = g.input("c", DType::f32, {counts.rows, 7});
    const auto constant = [&](const std::vector<float>& values) {
      return g.constant(Tensor::of<float>({n}, values));
    };
    const Value products = sum(take(w, g.constant(Tensor::of<std::int32_t>({n}, i))) *
                                   take(c, g.constant(Tensor::of<std::int32_t>({n}, j))),
                               1);
    const Value loss = 0.5 * sum(constant(weights) * square(products - constant(logs)));
    Session session(g);
    const Tensor before = tensor_of(model.words());
    const Results found =
        session.run(Program("p").output("loss", loss).output("dw", gradient(loss, w)),
                    {{"w", before}, {"c", tensor_of(model.contexts())}});
    BOOST_TEST(found["loss"].at(0) == cost, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(model.advance(workers) == cost / static_cast<double>(n),
               boost::test_tools::tolerance(1e-5));
    const Tensor after = tensor_of(model.words());
    for (std::int64_t e = 0; e < before.numel(); ++e) {
      if (e % 7 == 6) {  // the 1 after the bias is constant
        BOOST_REQUIRE(after.at(e) == 1);
        continue;
      }
      const double gradient = found["dw"].at(e);
      double& square = squares[static_cast<std::size_t>(e)];
      BOOST_TEST(after.at(e) - before.at(e) + 1 == 1 - 0.5 * gradient / std::sqrt(square),
                 boost::test_tools::tolerance(2e-5));
      square += gradient * gradient;
    }
  }
}

BOOST_AUTO_TEST_CASE(training_reduces_the_cost_to_2_percent) {
  const WordText text = text_of(two_topics(300, 2));
  Workers workers;
  const SparseMatrix counts = co_occurrences(text, {.window = 4}, workers);
  Glove model(counts, {.width = 12, .epochs = 200, .max_count = 1});
  double first = 0, last = 0;
  while (model.step() < model.steps()) {
    last = model.advance(workers);
    if (model.step() == 1) first = last;
  }
  BOOST_TEST(last < 0.02 * first);
  check_error<StateError>([&] { model.advance(workers); }, {"has taken its last step"});
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  const MoreThreads more(5);
  const WordText text = text_of(two_topics(200, 4));
  std::vector<Tensor> found;
  for (const int threads : {1, 2, 5}) {
    Workers workers({.threads = threads, .shuffle_seed = threads == 5 ? 7U : 0U});
    const SparseMatrix counts = co_occurrences(text, {}, workers);
    Glove model(counts, {.width = 9, .epochs = 3});
    while (model.step() < model.steps()) model.advance(workers);
    found.push_back(model.vectors(text.counts).vectors());
  }
  BOOST_TEST(bitwise_equal(found[0], found[1]));
  BOOST_TEST(bitwise_equal(found[0], found[2]));
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  Workers workers;
  const WordText text = text_of({"a b"}), lonely = text_of({"a", "b"});
  const SparseMatrix counts = co_occurrences(text, {}, workers);
  const SparseMatrix none = co_occurrences(lonely, {}, workers);
  const auto check_rejected = [&](const SparseMatrix& x, GloveOptions o, const std::string& why) {
    check_error<ArgumentError>([&] { Glove(x, o); }, {why});
  };
  check_rejected(counts, {.width = 0}, "width (0) and epochs (15) must be at least 1");
  check_rejected(counts, {.rate = 0}, "rate (0) and most (100) must be positive");
  check_rejected(none, {}, "the co-occurrence counts are empty");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
