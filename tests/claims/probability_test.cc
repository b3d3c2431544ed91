// A causal decoder defines a distribution over texts by the chain rule:
//   P(x_1 ... x_n) = P(x_1) P(x_2 | x_1) ... P(x_n | x_1 ... x_(n-1)).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/tests/models/gpt_variants.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(probability)
namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kVocab = 3, kLength = 4, kStart = 0;

/// Returns all texts of `length` tokens after the start token, as kVocab^length rows of length + 1
/// ids.
Tensor every_text(std::int64_t length) {
  std::int64_t count = 1;
  for (std::int64_t i = 0; i < length; ++i) count *= kVocab;
  Tensor ids = Tensor::empty(DType::i64, {count, length + 1});
  for (std::int64_t text = 0; text < count; ++text) {
    std::int64_t digits = text;  // the last token is the last digit
    for (std::int64_t t = length; t > 0; --t, digits /= kVocab)
      ids.mutable_data<std::int64_t>()[text * (length + 1) + t] = digits % kVocab;
    ids.mutable_data<std::int64_t>()[text * (length + 1)] = kStart;
  }
  return ids;
}

/// A decoder together with the probabilities that it assigns to texts.
class Model {
 public:
  explicit Model(GptConfig config) : config_(small(config)), gpt_(Scope(g_), config_) {
    const Value ids = g_.input("ids", DType::i64, {"batch", "seq"});
    const Value logits = gpt_({.ids = ids}).logits;
    read_.output("p", log_softmax(cast(logits, DType::f64)))
        .output("loss", next_token_loss(logits, ids));
    session_.initialise();
  }
  /// Returns log P(token | all previous tokens) at every position: [texts][position of the token -
  /// 1].
  std::vector<std::vector<double>> conditionals(const Tensor& ids) {
    const Tensor p = session_.run(read_, {{"ids", ids}})["p"];
    std::vector<std::vector<double>> out;
    const std::int64_t length = ids.size(1);
    for (std::int64_t text = 0; text < ids.size(0); ++text) {
      std::vector<double>& of_text = out.emplace_back();
      for (std::int64_t t = 1; t < length; ++t) {
        const auto token = static_cast<std::int64_t>(ids.at(text * length + t));
        of_text.push_back(p.at((text * length + t - 1) * kVocab + token));
      }
    }
    return out;
  }
  /// Returns the probability of the tokens after the start token, by the chain rule.
  std::vector<double> probabilities(const Tensor& ids) {
    std::vector<double> out;
    for (const std::vector<double>& of_text : conditionals(ids)) {
      double sum = 0;
      for (const double p : of_text) sum += p;
      out.push_back(std::exp(sum));
    }
    return out;
  }
  double loss(const Tensor& ids) { return session_.run(read_, {{"ids", ids}})["loss"].at(0); }

 private:
  static GptConfig small(GptConfig config) {
    config.vocab = kVocab;
    return config;
  }
  Graph g_;
  GptConfig config_;
  Gpt gpt_;
  Program read_{"read"};
  Session session_{g_, {.seed = 7, .threads = 2}};
};

BOOST_AUTO_TEST_CASE(probabilities_of_all_texts_of_a_length_sum_to_one) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Model model(variant.config);
      double total = 0, largest = 0;
      for (const double p : model.probabilities(every_text(kLength))) {
        total += p;
        largest = std::max(largest, p);
      }
      BOOST_TEST(std::abs(total - 1) < 1e-5);
      BOOST_TEST(largest > 2.0 / 81);  // not all texts have the same probability
    }
  }
}

BOOST_AUTO_TEST_CASE(the_probability_of_a_prefix_is_the_sum_over_its_continuations) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Model model(variant.config);
      const std::vector<double> whole = model.probabilities(every_text(kLength));
      for (std::int64_t length = 1; length < kLength; ++length) {
        const std::vector<double> beginnings = model.probabilities(every_text(length));
        const std::size_t endings = whole.size() / beginnings.size();
        for (std::size_t i = 0; i < beginnings.size(); ++i) {
          double sum = 0;
          for (std::size_t j = 0; j < endings; ++j) sum += whole[i * endings + j];
          BOOST_TEST(std::abs(sum - beginnings[i]) < 1e-5);
        }
      }
    }
  }
}

// A single pass over a text returns all conditional probabilities. Each of them equals the result
// for the text up to that position.
BOOST_AUTO_TEST_CASE(one_pass_returns_the_conditional_of_every_prefix) {
  for (const Variant& variant : variants()) {
    BOOST_TEST_CONTEXT(variant.name) {
      Model model(variant.config);
      const Ids text = {kStart, 2, 1, 0, 2, 2};
      const auto whole =
          model.conditionals(Tensor::of({1, static_cast<std::int64_t>(text.size())}, text))[0];
      double sum = 0;
      for (std::size_t length = 2; length <= text.size(); ++length) {
        const Ids beginning(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
        const auto alone =
            model.conditionals(Tensor::of({1, static_cast<std::int64_t>(length)}, beginning))[0];
        BOOST_TEST(std::abs(alone.back() - whole[length - 2]) < 1e-5);
        sum += alone.back();
      }
      // The training loss of decoders is -ln P(text) per token.
      const double loss = model.loss(Tensor::of({1, static_cast<std::int64_t>(text.size())}, text));
      BOOST_TEST(std::abs(loss + sum / static_cast<double>(text.size() - 1)) < 1e-5);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
