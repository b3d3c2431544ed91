#include "weft/models/vectors/lsa.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "texts.h"
#include "weft/core/error.h"
#include "weft/models/vectors/co_occurrence.h"
#include "weft/ops/op.h"
#include "weft/tests/samples/sample_data.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/more_threads.h"

namespace weft::testing {
namespace {

SparseMatrix sparse(const Tensor& dense) {
  SparseMatrix m{dense.size(0), dense.size(1), {}, {}, {}};
  for (std::int64_t i = 0; i < dense.numel(); ++i) {
    if (dense.at(i) != 0) {
      m.column.push_back(static_cast<std::int32_t>(i % dense.size(1)));
      m.value.push_back(static_cast<float>(dense.at(i)));
    }
    if (i % dense.size(1) == dense.size(1) - 1) m.ends.push_back(std::ssize(m.column));
  }
  return m;
}

// Returns random values, about 70% of which are replaced by 0.
Tensor random_sparse(const Sizes& sizes, std::uint64_t seed) {
  Tensor t = sample_uniform(sizes, seed);
  const Tensor mask = sample_uniform(sizes, seed + 1, 0, 1);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    if (mask.at(i) < 0.7) t.mutable_data<float>()[i] = 0;
  }
  return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(latent_semantics)

BOOST_AUTO_TEST_CASE(sparse_products_and_transposes_equal_dense_ones) {
  const MoreThreads more(5);
  const Tensor a = random_sparse({170, 90}, 1), x = sample_uniform({90, 21}, 3);
  const Tensor wanted = evaluate_op(builtin_ops()->at("matmul"), {a, x})[0];
  std::vector<Tensor> found;
  for (const int threads : {1, 5}) {
    Workers workers({.threads = threads});
    found.push_back(product(sparse(a), x, workers));
  }
  BOOST_TEST(bitwise_equal(found[0], found[1]));
  for (std::int64_t i = 0; i < wanted.numel(); ++i)
    BOOST_TEST(found[0].at(i) + 100 == wanted.at(i) + 100, boost::test_tools::tolerance(1e-6));
  const SparseMatrix t = sparse(a).transposed();
  const SparseMatrix back = t.transposed(), original = sparse(a);
  BOOST_TEST(t.rows == 90);
  BOOST_CHECK((back.ends == original.ends && back.column == original.column &&
               back.value == original.value));
  Workers workers;
  check_error<ArgumentError>(
      [&] {
        product(sparse(a), sample_uniform({91, 2}, 1), workers);
      },
      {"a matrix with 90 columns cannot be multiplied by f32[91, 2]"});
}

BOOST_AUTO_TEST_CASE(the_leading_singular_values_are_computed) {
  Workers workers;
  for (const Sizes& sizes : {Sizes{60, 40}, Sizes{30, 80}, Sizes{12, 12}}) {
    const Tensor a = random_sparse(sizes, 5);
    const auto wanted = evaluate_op(builtin_ops()->at("svd"), {a});
    const TruncatedSvd f = truncated_svd(sparse(a), {.rank = 5, .iterations = 30}, workers);
    for (std::int64_t k = 0; k < 5; ++k) {
      BOOST_TEST(f.s.at(k) == wanted[1].at(k), boost::test_tools::tolerance(1e-4));
      double u = 0, v = 0;
      for (std::int64_t i = 0; i < sizes[0]; ++i)
        u += f.u.at(i * 5 + k) * wanted[0].at(i * wanted[0].size(1) + k);
      for (std::int64_t i = 0; i < sizes[1]; ++i)
        v += f.v.at(i * 5 + k) * wanted[2].at(k * sizes[1] + i);
      BOOST_TEST(std::fabs(u) > 0.999);
      BOOST_TEST(u * v > 0.998);  // both have the same sign
    }
  }
  const SparseMatrix small = sparse(random_sparse({4, 9}, 1));
  check_error<ArgumentError>(
      [&] { truncated_svd(small, {.rank = 5}, workers); },
      {"a matrix with 4 rows and 9 columns allows ranks from 1 to 4, not 5"});
}

BOOST_AUTO_TEST_CASE(positive_mutual_information_matches_its_definition) {
  // The counts of words a, b and c: a and b co-occur 4 times, a and c once, in each direction.
  const SparseMatrix counts = sparse(Tensor::of<float>({3, 3}, {0, 4, 1, 4, 0, 0, 1, 0, 0}));
  const SparseMatrix ppmi = positive_pmi(counts, 1);
  BOOST_CHECK((ppmi.ends == std::vector<std::int64_t>{2, 3, 4}));
  // ln(0.4 / (0.5 * 0.4)) and ln(0.1 / (0.5 * 0.1)) both equal ln 2.
  for (const float x : ppmi.value)
    BOOST_TEST(x == std::log(2.0f), boost::test_tools::tolerance(1e-6f));
  BOOST_TEST(positive_pmi(counts, 1, 0.7).value.empty());
  const double smooth = std::pow(5, 0.5) + std::pow(4, 0.5) + 1;
  BOOST_TEST(
      positive_pmi(counts, 0.5).value[0] == std::log(0.4 / (0.5 * std::pow(4, 0.5) / smooth)),
      boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_CASE(the_word_sentence_matrix_has_tfidf_weights) {
  const WordText text = text_of({"a a b", "a c", "c", "b"});
  const SparseMatrix m = tf_idf_matrix(text);
  BOOST_TEST(m.rows == 3);
  BOOST_TEST(m.columns == 4);
  const auto a = static_cast<std::size_t>(m.begin(text.counts.find("a")));
  BOOST_TEST(m.column[a] == 0);
  BOOST_TEST(m.value[a] == (1 + std::log(2.0)) * std::log(2.0), boost::test_tools::tolerance(1e-6));
  BOOST_TEST(m.value[a + 1] == std::log(2.0), boost::test_tools::tolerance(1e-6));
}

// Inner products of embeddings do not depend on the signs of singular vectors.
BOOST_AUTO_TEST_CASE(embeddings_are_leading_singular_vectors_of_the_ppmi_matrix) {
  Workers workers;
  const WordText text = text_of(two_topics(400, 8));
  const SparseMatrix ppmi = positive_pmi(co_occurrences(text, {.window = 3}, workers), 0.75);
  Tensor dense = Tensor::zeros(DType::f32, {ppmi.rows, ppmi.columns});
  for (std::int64_t r = 0; r < ppmi.rows; ++r) {
    for (std::int64_t i = ppmi.begin(r); i < ppmi.end(r); ++i) {
      const auto k = static_cast<std::size_t>(i);
      dense.mutable_data<float>()[r * ppmi.columns + ppmi.column[k]] = ppmi.value[k];
    }
  }
  const auto svd = evaluate_op(builtin_ops()->at("svd"), {dense});
  for (const double power : {0.0, 0.5, 1.0}) {
    const WordVectors vectors = lsa(ppmi, text.counts, {.width = 6, .power = power}, workers);
    BOOST_CHECK((vectors.words() == text.counts.words()));
    for (std::int64_t i = 0; i < ppmi.rows; ++i) {
      for (std::int64_t j = 0; j < ppmi.rows; ++j) {
        double found = 0, wanted = 0;
        for (std::int64_t k = 0; k < 6; ++k) {
          found += vectors.vectors().at(i * 6 + k) * vectors.vectors().at(j * 6 + k);
          wanted += svd[0].at(i * svd[0].size(1) + k) * svd[0].at(j * svd[0].size(1) + k) *
                    std::pow(svd[1].at(k), 2 * power);
        }
        BOOST_TEST(std::fabs(found - wanted) < 0.01);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(words_of_one_topic_are_similar_and_bits_do_not_depend_on_threads) {
  const MoreThreads more(5);
  const WordText text = text_of(two_topics(1500, 5));
  for (const bool sentences : {false, true}) {
    std::vector<Tensor> found;
    for (const int threads : {1, 5}) {
      Workers workers({.threads = threads});
      const SparseMatrix matrix = sentences
                                      ? tf_idf_matrix(text)
                                      : positive_pmi(co_occurrences(text, {.window = 4}, workers));
      const WordVectors vectors = lsa(matrix, text.counts, {.width = 4}, workers);
      found.push_back(vectors.vectors());
      const auto cosine = [&](const char* x, const char* y) {
        return vectors.cosine(vectors.at(x), vectors.at(y));
      };
      BOOST_TEST(cosine("ship", "sail") > cosine("ship", "rose") + 0.3);
      BOOST_TEST(cosine("rose", "leaf") > cosine("sea", "leaf") + 0.3);
    }
    BOOST_TEST(bitwise_equal(found[0], found[1]));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
