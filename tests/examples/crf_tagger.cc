// A tagger for sequences in which the order of the tags says more than the words. Half of the words
// are typical of their tag, and the others are random. The tags follow each other in a fixed
// pattern with exceptions, and never repeat. A classifier of single words cannot use the pattern; a
// conditional random field (Lafferty et al. 2001) with the same emissions learns it.
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kTags = 4, kWords = 12, kLongest = 20;

NamedTensors make_batch(int batch, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution(0, n - 1)(random); };
  std::vector<std::int32_t> words, tags, lengths;
  for (int row = 0; row < batch; ++row) {
    lengths.push_back(5 + below(kLongest - 4));
    int tag = below(kTags);
    for (int i = 0; i < kLongest; ++i) {
      if (i > 0) tag = (tag + (below(10) < 9 ? 1 : 2 + below(2))) % kTags;
      tags.push_back(tag);
      words.push_back(below(2) == 0 ? tag + kTags * below(kWords / kTags) : below(kWords));
    }
  }
  return {{"words", Tensor::of<std::int32_t>({batch, kLongest}, words)},
          {"tags", Tensor::of<std::int32_t>({batch, kLongest}, tags)},
          {"lengths", Tensor::of<std::int32_t>({batch}, lengths)}};
}

int main() {
  Graph g;
  const Value words = g.input("words", DType::i32, {"batch", kLongest});
  const Value tags = g.input("tags", DType::i32, {"batch", kLongest});
  const Value lengths = g.input("lengths", DType::i32, {"batch"});
  const Value valid = less(iota(g, tags.shape(), 1, DType::i32), unsqueeze(lengths, 1));

  // The classifier of single words: the scores of the tags depend on the word alone.
  const Scope alone(g, "alone");
  const Value scores = linear(
      alone / "head", embedding(alone / "words", words, {.vocab = kWords, .width = 16}), kTags);
  const Value loss_alone = cross_entropy(scores, where(valid, tags, -100));
  const Value guesses = argmax(scores, 2);

  // The CRF adds scores for pairs of neighbouring tags. A tag never follows itself.
  const Scope chain(g, "chain");
  const Value emissions = linear(
      chain / "head", embedding(chain / "words", words, {.vocab = kWords, .width = 16}), kTags);
  CrfTransitions crf = make_crf(chain / "crf", DType::f32, kTags);
  const Value same = equal(iota(g, {kTags, kTags}, 0), iota(g, {kTags, kTags}, 1));
  crf.transitions = masked_fill(crf.transitions, same, -std::numeric_limits<double>::infinity());
  const Value loss = -mean(crf_log_likelihood(emissions, tags, crf, lengths));
  const CrfPath best = crf_viterbi(emissions, crf, lengths);
  const Value marginals = crf_marginals(emissions, crf, lengths);

  const auto accuracy = [&](const Value& found) {
    const Value right = logical_and(valid, equal(cast(found, DType::i32), tags));
    return sum(cast(right, DType::f32)) / sum(cast(valid, DType::f32));
  };
  const Program train =
      Program("train").update(adamw(loss_alone + loss, g.parameters(), {.lr = 0.02}));
  const Program test = Program("test")
                           .output("alone", accuracy(guesses))
                           .output("crf", accuracy(best.tags))
                           .output("best", best.tags)
                           .output("marginals", marginals)
                           .output("loss", loss);
  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 200; ++step) session.run(train, make_batch(32, step));

  const NamedTensors held_out = make_batch(200, 0);
  const Results r = session.run(test, held_out);
  const float alone_right = r["alone"].item<float>(), crf_right = r["crf"].item<float>();
  std::printf("loss %.3f; right tags: single words %.1f%%, CRF %.1f%%\n", r["loss"].item<float>(),
              100 * alone_right, 100 * crf_right);
  std::printf("tag (predicted, probability):");
  for (int i = 0; i < 6; ++i) {
    const auto tag = static_cast<std::int64_t>(r["best"].at(kLongest + i));
    std::printf("  %.0f (%d, %.2f)", held_out[1].second.at(kLongest + i), static_cast<int>(tag),
                r["marginals"].at((kLongest + i) * kTags + tag));
  }
  std::printf("\n");
  return crf_right > alone_right + 0.1f && crf_right > 0.75f ? 0 : 1;
}
