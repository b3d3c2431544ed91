// Compares training steps of skip-gram, CBOW and fastText with the gradient of their loss,
// expressed as a graph.
#include "weft/models/vectors/negative_sampling.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "texts.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

Value indices(Graph& g, std::span<const std::int32_t> list) {
  return g.constant(Tensor::of<std::int32_t>({std::ssize(list)}, list));
}

// Builds the loss of the next step's examples as documented in the header.
Value loss_of(Graph& g, const NegativeSampling& model, const NegativeSamplingOptions& options,
              std::int64_t text_size, Value rows, Value candidates) {
  std::vector<Value> terms;
  const auto add = [&](std::span<const std::int32_t> mean_of, std::int32_t right,
                       std::span<const std::int32_t> wrong) {
    const Value h = mean(take(rows, indices(g, mean_of)), 0);
    const std::int32_t one[] = {right};
    terms.push_back(sum(softplus(-matmul(take(candidates, indices(g, one)), h))));
    if (!wrong.empty())
      terms.push_back(sum(softplus(matmul(take(candidates, indices(g, wrong)), h))));
  };
  WordWindows::Scratch scratch;
  const std::int64_t size = model.step_words();
  const std::int64_t begin = model.step() * size;
  model.windows().for_examples(0, begin, std::min(begin + size, text_size), scratch,
                               [&](const WordWindows::Example& e) {
                                 const auto wrong = e.candidates.subspan(1);
                                 if (options.cbow) {
                                   std::vector<std::int32_t> all;
                                   for (const std::int32_t w : e.context) {
                                     const auto own = model.rows_of(w);
                                     all.insert(all.end(), own.begin(), own.end());
                                   }
                                   return add(all, e.candidates.front(), wrong);
                                 }
                                 for (const std::int32_t w : e.context) {
                                   if (options.subwords) {
                                     add(model.rows_of(e.candidates.front()), w, wrong);
                                   } else {
                                     add(model.rows_of(w), e.candidates.front(), wrong);
                                   }
                                 }
                               });
  Value total = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) total = total + terms[i];
  return total;
}

void check_updates(const Tensor& before, const Tensor& after, const Tensor& gradient, double rate) {
  double largest = 0, worst = 0;
  for (std::int64_t i = 0; i < before.numel(); ++i) {
    const double wanted = -rate * gradient.at(i);
    largest = std::max(largest, std::fabs(wanted));
    worst = std::max(worst, std::fabs(after.at(i) - before.at(i) - wanted));
  }
  BOOST_TEST(largest > 1e-4);
  BOOST_TEST(worst <= 2e-5 * largest + 1e-7);
}

void check_steps(const NegativeSamplingOptions& options) {
  const WordText text = text_of(two_topics(50, 3));
  NegativeSampling model(text, options);
  Workers workers({.threads = 2});
  for (int step = 0; step < 2; ++step) {
    Graph g;
    const Value rows = g.input("rows", DType::f32, {model.rows().rows(), model.rows().width()});
    const Value candidates =
        g.input("answers", DType::f32, {model.output_rows().rows(), model.rows().width()});
    const Value loss = loss_of(g, model, options, text.size(), rows, candidates);
    const auto grads = gradients(loss, {rows, candidates});
    const Tensor r = tensor_of(model.rows()), a = tensor_of(model.output_rows());
    Session session(g);
    const Results found =
        session.run(Program("p").output("rows", grads[0]).output("answers", grads[1]),
                    {{"rows", r}, {"answers", a}});
    const double rate = model.rate();
    model.advance(workers);
    if (step > 0) check_updates(r, tensor_of(model.rows()), found["rows"], rate);
    check_updates(a, tensor_of(model.output_rows()), found["answers"], rate);
  }
}

NegativeSamplingOptions small(bool cbow, bool subwords) {
  NegativeSamplingOptions o{.cbow = cbow, .width = 9, .epochs = 3, .rate = 0.5};
  o.windows = {.window = 3, .negatives = 3, .subsample = 0.1};
  if (subwords) o.subwords = SubwordOptions{.shortest = 2, .longest = 3, .buckets = 50};
  return o;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(negative_sampling)

BOOST_AUTO_TEST_CASE(skip_gram_steps_follow_the_gradient) { check_steps(small(false, false)); }
BOOST_AUTO_TEST_CASE(cbow_steps_follow_the_gradient) { check_steps(small(true, false)); }
BOOST_AUTO_TEST_CASE(fasttext_steps_follow_the_gradient) { check_steps(small(false, true)); }
BOOST_AUTO_TEST_CASE(subword_cbow_steps_follow_the_gradient) { check_steps(small(true, true)); }

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  const MoreThreads more(5);
  const WordText text = text_of(two_topics(200, 4));
  for (const bool cbow : {false, true}) {
    for (const bool subwords : {false, true}) {
      std::vector<Tensor> found;
      for (const int threads : {1, 2, 5}) {
        NegativeSampling model(text, small(cbow, subwords));
        Workers workers({.threads = threads, .shuffle_seed = threads == 5 ? 7U : 0U});
        while (model.step() < model.steps()) model.advance(workers);
        found.push_back(model.vectors().vectors());
      }
      BOOST_TEST(bitwise_equal(found[0], found[1]));
      BOOST_TEST(bitwise_equal(found[0], found[2]));
    }
  }
}

BOOST_AUTO_TEST_CASE(words_of_one_topic_become_similar) {
  const WordText text = text_of(two_topics(1500, 5));
  for (const bool cbow : {false, true}) {
    NegativeSamplingOptions o{.cbow = cbow, .width = 16, .epochs = 6, .rate = cbow ? 0.2 : 0.05};
    o.windows.subsample = 0;
    NegativeSampling model(text, o);
    Workers workers;
    while (model.step() < model.steps()) model.advance(workers);
    const WordVectors vectors = model.vectors();
    for (const SimilarWord& similar : vectors.nearest("ship", 6)) {
      BOOST_TEST((similar.word != "rose" && similar.word != "leaf" && similar.word != "soil" &&
                  similar.word != "seed" && similar.word != "flower" && similar.word != "root"),
                 similar.word);
    }
    check_error<StateError>([&] { model.advance(workers); }, {"has taken its last step"});
  }
}

BOOST_AUTO_TEST_CASE(embeddings_are_means_of_word_and_ngram_rows) {
  const WordText text = text_of(two_topics(50, 6));
  const NegativeSampling model(text, small(false, true));
  const WordVectors vectors = model.vectors();
  const std::vector<float> ship = model.vector_of("ship");
  for (std::int64_t i = 0; i < 9; ++i)
    BOOST_TEST(ship[static_cast<std::size_t>(i)] ==
               vectors.vector(vectors.at("ship"))[static_cast<std::size_t>(i)]);
  double sum = 0;
  const auto buckets = subword_buckets("shipping", {.shortest = 2, .longest = 3, .buckets = 50});
  for (const std::int32_t b : buckets) sum += model.rows().row(text.counts.size() + b)[4];
  BOOST_TEST(model.vector_of("shipping")[4] == sum / static_cast<double>(buckets.size()),
             boost::test_tools::tolerance(1e-5));
  const NegativeSampling plain(text, small(false, false));
  for (const float x : plain.vector_of("shipping")) BOOST_TEST(x == 0);
}

BOOST_AUTO_TEST_CASE(ngrams_and_hashes_match_fasttext) {
  // 32-bit FNV-1a, with the published values 0xBF9CF968 for "foobar" and 0xE40C292C for "a".
  const auto one = [](std::string_view word, int n, std::int64_t buckets) {
    return subword_buckets(word, {.shortest = n, .longest = n, .buckets = buckets});
  };
  const std::int64_t prime = 2'147'483'647;
  BOOST_TEST(one("foobar", 6, prime)[1] == static_cast<std::int32_t>(0xBF9CF968U % prime));
  BOOST_CHECK((one("a", 1, prime) ==
               std::vector<std::int32_t>{static_cast<std::int32_t>(0xE40C292CU % prime)}));
  BOOST_TEST(one("where", 3, prime).size() == 5U);  // <wh whe her ere re>
  BOOST_TEST(one("where", 7, prime).size() == 1U);  // <where>
  BOOST_TEST(one("where", 8, prime).empty());
  // N-grams consist of characters, not of bytes.
  BOOST_TEST(one("\xc3\xa4\xc3\xb6", 3, prime).size() == 2U);
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  const WordText text = text_of({"a b"});
  const auto check_rejected = [&](NegativeSamplingOptions o, const std::string& why) {
    check_error<ArgumentError>([&] { NegativeSampling(text, o); }, {why});
  };
  check_rejected({.width = 0}, "width (0) and epochs (5) must be at least 1");
  check_rejected({.epochs = 0}, "epochs (0)");
  check_rejected({.rate = 0}, "the rate must be positive, but is 0");
  check_rejected({.subwords = SubwordOptions{.shortest = 4, .longest = 3}},
                 "n-grams of 4 to 3 characters");
  check_rejected({.subwords = SubwordOptions{.buckets = 0}}, "in 0 buckets");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
