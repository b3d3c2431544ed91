// Unsupervised tagging. A hidden Markov model groups the words of a text into classes based only on
// their order. Expectation-maximisation is implemented by two programs that share variables. One
// program accumulates the expected counts of a batch, which are the gradient of the log-likelihood.
// The other program computes new parameters from the counts.
//
//   zoo_hmm_tags TEXT [STATES [ITERATIONS]]
//
// Because there are no labels, no accuracy can be measured. The program prints the most frequent
// words of each class instead.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/language/hmm.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/sentences.h"

using namespace weft;
using namespace weft::zoo;

namespace {

constexpr std::int64_t kWords = 2000, kLongest = 40, kBatch = 256;
// Added to every expected count, so that no word has probability 0 in any class.
constexpr double kPrior = 0.01;

/// The graph of the model and the programs of expectation-maximisation and tagging.
struct Tagger {
  Tagger(std::int64_t states, std::int64_t words) {
    const Scope net(g, "hmm");
    const auto declare = [&](const char* name, const Shape& shape) {
      const ValueType type{DType::f64, shape};
      logs.push_back(net.variable(name, type, {.initializer = Initializer::normal(0.5)}));
      counts.push_back((net / "counts").variable(name, type, {.kind = VariableKind::buffer}));
    };
    declare("start", {Dim(states)});
    declare("transition", {Dim(states), Dim(states)});
    declare("emission", {Dim(states), Dim(words)});
    const Value symbols = g.input("symbols", DType::i32, {"batch", "time"});
    const Value lengths = g.input("lengths", DType::i32, {"batch"});
    const HmmParameters p{logs[0], logs[1], logs[2]};
    const Value likelihood = sum(hmm_log_likelihood(p, symbols, {.lengths = lengths}));
    const auto expected = gradients(likelihood, {logs[0], logs[1], logs[2]});
    count.output("likelihood", likelihood);
    for (std::size_t i = 0; i < 3; ++i) {
      begin.update(logs[i], log_softmax(logs[i]));
      count.update(counts[i], counts[i] + expected[i]);
      maximise.update(counts[i], zeros_like(counts[i]));
    }
    const HmmParameters better =
        hmm_m_step({counts[0] + kPrior, counts[1] + kPrior, counts[2] + kPrior});
    maximise.update(logs[0], better.start)
        .update(logs[1], better.transition)
        .update(logs[2], better.emission);
    path.output("states", hmm_best_path(p, symbols, {.lengths = lengths}));
  }

  Graph g;
  std::vector<Variable> logs, counts;  // start, transition, emission
  Program begin{"begin"}, count{"count"}, maximise{"maximise"}, path{"path"};
};

void run(const std::string& file, std::int64_t states, std::int64_t iterations) {
  const std::vector<Sentence> sentences = sentences_of(read_utf8_file(file), kLongest);
  const std::vector<std::string> words = frequent_words(sentences, kWords);
  const std::vector<NamedTensors> batches = sentence_batches(sentences, words, kBatch, kLongest);
  std::int64_t tokens = 0;
  for (const Sentence& sentence : sentences) tokens += std::ssize(sentence);
  fmt::print("{} words in {} sentences, vocabulary of {} words; {} states\n", tokens,
             sentences.size(), words.size(), states);

  Tagger tagger(states, std::ssize(words));
  Session session(tagger.g, {.seed = 1});
  session.run(tagger.begin);
  for (std::int64_t i = 1; i <= iterations; ++i) {
    double likelihood = 0;
    for (const NamedTensors& batch : batches)
      likelihood += session.run(tagger.count, batch)["likelihood"].item<double>();
    session.run(tagger.maximise);
    if (i == 1 || i % 10 == 0) {
      fmt::print("iteration {:3}  log likelihood per word {:.4f}\n", i,
                 likelihood / static_cast<double>(tokens));
      std::fflush(stdout);
    }
  }

  // Counts the words in each class on the most probable path through every sentence.
  std::vector<std::vector<std::int64_t>> seen(static_cast<std::size_t>(states),
                                              std::vector<std::int64_t>(words.size()));
  for (const NamedTensors& batch : batches) {
    const Tensor found = session.run(tagger.path, batch)["states"];
    const auto state = found.span<std::int64_t>();
    const auto symbol = batch[0].second.span<std::int32_t>();
    const auto length = batch[1].second.span<std::int32_t>();
    for (std::size_t i = 0; i < symbol.size(); ++i) {
      if (static_cast<std::int32_t>(i % kLongest) < length[i / kLongest])
        ++seen[static_cast<std::size_t>(state[i])][static_cast<std::size_t>(symbol[i])];
    }
  }
  for (std::size_t s = 0; s < seen.size(); ++s) {
    std::int64_t all = 0;
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (std::size_t w = 0; w < words.size(); ++w) {
      all += seen[s][w];
      if (w > 0 && seen[s][w] > 0) order.emplace_back(-seen[s][w], words[w]);
    }
    std::sort(order.begin(), order.end());
    fmt::print("class {:2}, {:4.1f}% of the words:", s,
               100 * static_cast<double>(all) / static_cast<double>(tokens));
    for (std::size_t i = 0; i < std::min<std::size_t>(12, order.size()); ++i)
      fmt::print(" {}", order[i].second);
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t states = argc > 2 ? std::atoll(argv[2]) : 16,
                     iterations = argc > 3 ? std::atoll(argv[3]) : 60;
  if (argc < 2 || argc > 4 || states < 1 || iterations < 1) {
    fmt::print(stderr, "usage: zoo_hmm_tags TEXT [STATES [ITERATIONS]]\n");
    return 2;
  }
  return exit_code("hmm_tags", [&] { run(argv[1], states, iterations); });
}
