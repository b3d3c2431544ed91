// A recurrent network learns to read symbols in a noisy signal. It is trained on the symbols of
// each row alone: their positions and durations are unknown. CTC (Graves et al. 2006) sums over all
// alignments. The model is then decoded greedily and with a beam search.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/generate/ctc_decode.h"
#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kSymbols = 5, kSteps = 40, kLongest = 8;

/// Returns signals, and the symbols 1 to kSymbols that each of them contains. A symbol lasts for
/// two or three steps, in which its channel is 1. Up to two steps separate it from the next symbol,
/// and at least one if both are equal. All channels are noisy.
NamedTensors make_batch(int batch, unsigned seed) {
  std::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  std::normal_distribution<float> noise(0, 0.35f);
  std::vector<float> signal;
  std::vector<std::int32_t> targets, steps, counts;
  for (int row = 0; row < batch; ++row) {
    std::vector<int> active;
    const int count = between(3, kLongest);
    int before = 0;
    for (int i = 0; i < count; ++i) {
      const int symbol = between(1, kSymbols);
      active.insert(active.end(), static_cast<std::size_t>(between(symbol == before, 2)), 0);
      active.insert(active.end(), static_cast<std::size_t>(between(2, 3)), symbol);
      targets.push_back(before = symbol);
    }
    counts.push_back(count);
    steps.push_back(std::min(static_cast<int>(active.size()), kSteps));
    targets.resize(static_cast<std::size_t>((row + 1) * kLongest));
    active.resize(kSteps);
    for (const int symbol : active) {
      for (int c = 1; c <= kSymbols; ++c)
        signal.push_back(noise(random) + (c == symbol ? 1.0f : 0.0f));
    }
  }
  return {{"signal", Tensor::of<float>({batch, kSteps, kSymbols}, signal)},
          {"steps", Tensor::of<std::int32_t>({batch}, steps)},
          {"targets", Tensor::of<std::int32_t>({batch, kLongest}, targets)},
          {"counts", Tensor::of<std::int32_t>({batch}, counts)}};
}

/// Returns the fewest insertions, deletions and replacements that turn `a` into `b`.
int edits(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

int main() {
  Graph g;
  const Scope net(g, "net");
  const Value signal = g.input("signal", DType::f32, {"batch", "time", kSymbols});
  const Value steps = g.input("steps", DType::i32, {"batch"});
  const Value targets = g.input("targets", DType::i32, {"batch", kLongest});
  const Value counts = g.input("counts", DType::i32, {"batch"});
  const Value states =
      gru(net / "gru", signal, 32, {.bidirectional = true, .lengths = steps}).output;
  const Value logits = linear(net / "head", states, kSymbols + 1);  // class 0 is the blank
  const Value loss = ctc_loss(logits, targets, steps, counts);
  const Program train =
      Program("train")
          .output("loss", loss)
          .update(adamw(loss, g.parameters(), {.lr = 0.01, .step = {.clip_norm = 1}}));
  const Program read = Program("read").output("logits", logits);

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 300; ++step) {
    const float now = session.run(train, make_batch(32, step))["loss"].item<float>();
    if (step % 50 == 0) std::printf("step %3u  loss %.4f\n", step, now);
  }
  const NamedTensors test = make_batch(100, 0);  // not used for training
  const Tensor out = session.run(read, {test[0], test[1]})["logits"], &lengths = test[1].second;
  const std::vector<CtcHypothesis> greedy = ctc_greedy_decode(out, lengths);
  const auto beam = ctc_prefix_beam_search(out, lengths, {.beams = 16});
  int greedy_edits = 0, beam_edits = 0, symbols = 0;
  for (std::size_t row = 0; row < greedy.size(); ++row) {
    std::vector<std::int64_t> truth;
    for (std::size_t i = 0; i < static_cast<std::size_t>(test[3].second.at(std::int64_t(row))); ++i)
      truth.push_back(static_cast<std::int64_t>(
          test[2].second.at(static_cast<std::int64_t>(row * kLongest + i))));
    greedy_edits += edits(greedy[row].ids, truth);
    beam_edits += edits(beam[row][0].ids, truth);
    symbols += static_cast<int>(truth.size());
  }
  std::printf("%d symbols; errors: greedy %d, beam search %d\n", symbols, greedy_edits, beam_edits);
  return beam_edits <= greedy_edits && 20 * beam_edits < symbols ? 0 : 1;
}
