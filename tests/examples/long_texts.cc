// A classifier of long texts. Its memory grows linearly with their length: tokens attend to a
// window of 8 tokens, and the first token to the whole text (Longformer). It learns to find a rare
// token anywhere in texts of 128 tokens.
#include <cstdio>
#include <random>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/encoder_heads.h"

using namespace weft;

constexpr std::int64_t kBatch = 16, kLength = 128, kVocab = 20, kRare = 19;

/// Returns random texts; those of class 1 contain the rare token once.
NamedTensors make_batch(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens, labels;
  for (int row = 0; row < kBatch; ++row) {
    for (int i = 0; i < kLength; ++i)
      tokens.push_back(static_cast<std::int32_t>(2 + random() % (kRare - 2)));
    labels.push_back(static_cast<std::int32_t>(random() % 2));
    const std::size_t start = tokens.size() - kLength;
    if (labels.back() == 1) tokens[start + 20 + random() % 100] = kRare;
  }
  return {{"tokens", Tensor::of({kBatch, kLength}, tokens)},
          {"label", Tensor::of({kBatch}, labels)}};
}

int main() {
  EncoderConfig config;
  config.vocab = kVocab;
  config.context = 4096;
  config.layers = 1;
  config.heads = 2;
  config.width = config.inner = 16;
  config.window = 8;
  config.global_attention = true;
  config.initializer_range = 0.2;

  Graph g;
  const Value tokens = g.input("tokens", DType::i32, {"batch", "seq"});
  const Value label = g.input("label", DType::i32, {"batch"});
  const Encoder encoder(Scope(g).evaluation(), config);
  const Value h =
      encoder({.ids = tokens, .global_attention_mask = first_token_attention(config, tokens)})
          .last_hidden_state;
  const Value logits = make_head(Scope(g, "head"), config, 2)(select(h, 1, Dim(0)));
  const Value loss = cross_entropy(logits, label);
  Program train("train");
  train.output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 0.01}));
  Program evaluate("evaluate");
  evaluate.output("loss", loss);

  Session session(g, {.seed = 1});
  for (unsigned step = 0; step < 250; ++step) session.run(train, make_batch(step));
  const float held_out = session.run(evaluate, make_batch(1000))["loss"].item<float>();
  const auto bytes = [&](std::int64_t length) {
    return session.plan(train, {{"tokens", {1, length}}, {"label", {1}}})->memory().arena;
  };
  std::printf(
      "held-out loss %.3f; memory of a training step: %zu KiB for 1024 tokens, %zu KiB for "
      "4096\n",
      static_cast<double>(held_out), bytes(1024) / 1024, bytes(4096) / 1024);
  return held_out < 0.1F && bytes(4096) < 5 * bytes(1024) ? 0 : 1;
}
