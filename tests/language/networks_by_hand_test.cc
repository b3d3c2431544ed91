// Language networks compared with loops over plain numbers, in double.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "weft/autodiff/retype.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/language/averaging.h"
#include "weft/models/language/convolution_network.h"
#include "weft/models/language/hmm_network.h"
#include "weft/models/language/network_programs.h"
#include "weft/models/language/recurrent_network.h"
#include "weft/models/language/window_network.h"

namespace weft {
namespace {

using Row = std::vector<double>;
using Index = std::size_t;

constexpr Index kVocab = 4;
const std::vector<Index> kText = {2, 0, 3, 3, 1, 2, 1};

// Returns W x + b for W [rows, x.size()]; b may be empty.
Row affine_of(const Row& w, const Row& x, const Row& b) {
  Row y(w.size() / x.size());
  for (Index i = 0; i < y.size(); ++i) {
    y[i] = b.empty() ? 0 : b[i];
    for (Index j = 0; j < x.size(); ++j) y[i] += w[i * x.size() + j] * x[j];
  }
  return y;
}

Row plus(Row a, const Row& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

// A network that was converted to double, with its parameters and its logits for kText.
struct Twin {
  explicit Twin(const LanguageNetwork& network)
      : twin(retype(Program("logits").output(
            "logits",
            network(network.scope().graph().input("tokens", DType::i32, {"batch", "seq"}))))),
        session(*twin.graph, {.seed = 5, .threads = 1, .verify = true}) {
    std::vector<std::int32_t> ids(kText.begin(), kText.end());
    logits = session.run(
        twin.program, {{"tokens", Tensor::of<std::int32_t>({1, std::ssize(ids)}, ids)}})["logits"];
  }
  Row operator[](const std::string& name) {
    return session.value("net." + name).to_vector<double>();
  }
  // Returns row `row` of a matrix.
  Row row(const std::string& name, Index row) {
    const Tensor t = session.value("net." + name);
    const Row all = t.to_vector<double>();
    const auto width = static_cast<Index>(t.sizes().back());
    return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
            all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
  }
  void check(Index place, const Row& wanted) const {
    BOOST_REQUIRE(wanted.size() == kVocab);
    for (Index i = 0; i < kVocab; ++i) {
      const double got = logits.at(static_cast<std::int64_t>(place * kVocab + i));
      BOOST_TEST(std::abs(got - wanted[i]) < 1e-12);
    }
  }

  Module twin;
  Session session;
  Tensor logits;
};

Row normed(const Row& x, const Row& weight, const Row& bias) {
  double mean = 0, variance = 0;
  const auto n = static_cast<double>(x.size());
  for (const double v : x) mean += v / n;
  for (const double v : x) variance += (v - mean) * (v - mean) / n;
  Row y;
  for (Index i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]);
  return y;
}

BOOST_AUTO_TEST_SUITE(language_networks_by_hand)

BOOST_AUTO_TEST_CASE(an_averaging_network_matches_plain_loops) {
  Graph g;
  const AveragingNetwork network(Scope(g, "net"), kVocab, 3);
  Twin twin(network);
  Row sum(3);
  for (Index t = 0; t < kText.size(); ++t) {
    sum = plus(sum, twin.row("embedding.weight", kText[t]));
    Row mean = sum;
    for (double& v : mean) v /= static_cast<double>(t + 1);
    twin.check(t, affine_of(twin["head.weight"], mean, twin["head.bias"]));
  }
}

BOOST_AUTO_TEST_CASE(a_window_network_matches_plain_loops) {
  for (const bool direct : {true, false}) {
    Graph g;
    const WindowNetwork network(Scope(g, "net"), kVocab,
                                {.tokens = 3, .embedding = 2, .hidden = 5, .direct = direct});
    Twin twin(network);
    for (Index t = 0; t < kText.size(); ++t) {
      Row x;  // oldest token first, zeros before the text
      for (Index back = 3; back-- > 0;) {
        const Row e = t < back ? Row(2) : twin.row("embedding.weight", kText[t - back]);
        x.insert(x.end(), e.begin(), e.end());
      }
      Row hidden = affine_of(twin["hidden.weight"], x, twin["hidden.bias"]);
      for (double& v : hidden) v = std::tanh(v);
      Row logits = affine_of(twin["head.weight"], hidden, twin["head.bias"]);
      if (direct) logits = plus(logits, affine_of(twin["direct.weight"], x, {}));
      twin.check(t, logits);
    }
  }
}

// The equations are those in the documentation of PyTorch's nn.RNN, nn.GRU and nn.LSTM.
struct PlainState {
  Row h, c;
};

void advance(Recurrence kind, const Row& from_x, const Row& from_h, PlainState& s) {
  const Index n = s.h.size();
  for (Index i = 0; i < n; ++i) {
    const auto both = [&](Index gate) { return from_x[gate * n + i] + from_h[gate * n + i]; };
    if (kind == Recurrence::rnn_tanh) s.h[i] = std::tanh(both(0));
    if (kind == Recurrence::gru) {
      const double r = sigma(both(0)), z = sigma(both(1));
      const double fresh = std::tanh(from_x[2 * n + i] + r * from_h[2 * n + i]);
      s.h[i] = (1 - z) * fresh + z * s.h[i];
    }
    if (kind == Recurrence::lstm) {
      s.c[i] = sigma(both(1)) * s.c[i] + sigma(both(0)) * std::tanh(both(2));
      s.h[i] = sigma(both(3)) * std::tanh(s.c[i]);
    }
  }
}

BOOST_AUTO_TEST_CASE(recurrent_networks_match_plain_loops) {
  for (const Recurrence kind : {Recurrence::rnn_tanh, Recurrence::gru, Recurrence::lstm}) {
    Graph g;
    const RecurrentNetwork network(Scope(g, "net"), kVocab,
                                   {.kind = kind, .hidden = 3, .embedding = 2, .layers = 2});
    Twin twin(network);
    PlainState layers[] = {{Row(3), Row(3)}, {Row(3), Row(3)}};
    for (Index t = 0; t < kText.size(); ++t) {
      Row x = twin.row("embedding.weight", kText[t]);
      for (Index l = 0; l < 2; ++l) {
        const auto weight = [&](const char* name) {
          return twin["layers." + std::string(name) + "_l" + std::to_string(l)];
        };
        const Row from_x = affine_of(weight("weight_ih"), x, weight("bias_ih"));
        const Row from_h = affine_of(weight("weight_hh"), layers[l].h, weight("bias_hh"));
        advance(kind, from_x, from_h, layers[l]);
        x = layers[l].h;
      }
      twin.check(t, affine_of(twin["head.weight"], x, twin["head.bias"]));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_convolutional_network_matches_plain_loops) {
  Graph g;
  constexpr Index kWidth = 3;
  const std::vector<std::int64_t> dilations = {1, 3};
  const ConvolutionNetwork network(Scope(g, "net"), kVocab,
                                   {.width = kWidth, .kernel = 2, .dilations = dilations});
  Twin twin(network);
  std::vector<Row> h;
  for (const Index id : kText) h.push_back(twin.row("embedding.weight", id));
  for (Index l = 0; l < 2; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    std::vector<Row> x, next = h;
    for (const Row& v : h) x.push_back(normed(v, twin[at + "norm.weight"], twin[at + "norm.bias"]));
    for (Index t = 0; t < h.size(); ++t) {
      const auto d = static_cast<Index>(dilations[l]);
      Row seen = t < d ? Row(kWidth) : x[t - d];
      seen.insert(seen.end(), x[t].begin(), x[t].end());
      const Row y = affine_of(twin[at + "convolution.weight"], seen, twin[at + "convolution.bias"]);
      for (Index i = 0; i < kWidth; ++i) next[t][i] += y[i] * sigma(y[kWidth + i]);
    }
    h = next;
  }
  for (Index t = 0; t < h.size(); ++t) {
    twin.check(t,
               affine_of(twin["head.weight"], normed(h[t], twin["norm.weight"], twin["norm.bias"]),
                         twin["head.bias"]));
  }
}

Row softmax_rows(Row x, Index width) {
  for (Index row = 0; row < x.size(); row += width) {
    double sum = 0;
    for (Index i = row; i < row + width; ++i) sum += x[i] = std::exp(x[i]);
    for (Index i = row; i < row + width; ++i) x[i] /= sum;
  }
  return x;
}

// Returns the probability of `text`, a sum over all paths. p(next | previous tokens) is the
// quotient of two such probabilities.
double probability_of(const Row& start, const Row& transition, const Row& emission,
                      const std::vector<Index>& text, Index states) {
  Row p = start;
  for (Index t = 0; t < text.size(); ++t) {
    Row here(states);
    for (Index to = 0; to < states; ++to) {
      for (Index from = 0; from < (t == 0 ? 1 : states); ++from)
        here[to] += t == 0 ? start[to] : p[from] * transition[from * states + to];
      here[to] *= emission[to * kVocab + text[t]];
    }
    p = here;
  }
  double sum = 0;
  for (const double v : p) sum += v;
  return sum;
}

BOOST_AUTO_TEST_CASE(an_hmm_network_matches_a_sum_over_paths) {
  Graph g;
  const HmmNetwork network(Scope(g, "net"), kVocab, 3);
  Twin twin(network);
  const Row start = softmax_rows(twin["start"], 3),
            transition = softmax_rows(twin["transition"], 3),
            emission = softmax_rows(twin["emission"], kVocab);
  std::vector<Index> text;
  for (Index t = 0; t < kText.size(); ++t) {
    text.push_back(kText[t]);
    const double seen = probability_of(start, transition, emission, text, 3);
    Row wanted;
    for (Index next = 0; next < kVocab; ++next) {
      std::vector<Index> longer = text;
      longer.push_back(next);
      wanted.push_back(std::log(probability_of(start, transition, emission, longer, 3) / seen));
    }
    twin.check(t, wanted);
  }
}

// Normalisation in every step, and log space over the whole text, give the same probability.
BOOST_AUTO_TEST_CASE(hmm_network_scores_match_the_log_likelihood_of_the_text) {
  Graph g;
  const HmmNetwork network(Scope(g, "net"), kVocab, 3);
  const NetworkPrograms programs = network_programs(network);
  const Value text = g.input("text", DType::i32, {"batch", "all"});
  const Value whole = hmm_log_likelihood(network.parameters(), text);
  Session session(g, {.seed = 5, .threads = 1});
  const Program likelihood = Program("likelihood").output("l", whole);
  std::vector<std::int32_t> ids(kText.begin(), kText.end());
  const auto tensor = [&](std::size_t begin, std::size_t end) {
    return Tensor::of<std::int32_t>(
        {1, static_cast<std::int64_t>(end - begin)},
        std::vector<std::int32_t>(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                  ids.begin() + static_cast<std::ptrdiff_t>(end)));
  };
  const double all = session.run(likelihood, {{"text", tensor(0, 7)}})["l"].at(0);
  const double first = session.run(likelihood, {{"text", tensor(0, 1)}})["l"].at(0);
  const double mean =
      session.run(programs.evaluate, {{"tokens", tensor(0, 6)}, {"targets", tensor(1, 7)}})["loss"]
          .at(0);
  BOOST_TEST(std::abs(all - first + 6 * mean) < 1e-5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
