// A variational autoencoder (Kingma and Welling 2014) for images of a spot: two latent variables
// learn to encode the position of the spot. Sampling is a node of the graph with a saved key, and
// gradients flow through it (z = mean + sd * noise). Training, encoding and decoding are three
// programs that share one set of weights.
#include <cstdio>
#include <random>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"

using namespace weft;

constexpr int kSide = 10, kPixels = kSide * kSide, kLatent = 2;

/// Returns images f32 [n, kPixels] in [0, 1], each with a round spot at a random position.
Tensor make_pictures(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(2, kSide - 3);
  std::vector<float> pixels;
  for (int i = 0; i < n; ++i) {
    const float x = place(random), y = place(random);
    for (int p = 0; p < kPixels; ++p) {
      const float dx = static_cast<float>(p % kSide) - x, dy = static_cast<float>(p / kSide) - y;
      pixels.push_back(1 / (1 + 0.2f * (dx * dx + dy * dy) * (dx * dx + dy * dy)));
    }
  }
  return Tensor::of<float>({n, kPixels}, pixels);
}

/// Maps latent variables [n, kLatent] to pixel logits [n, kPixels].
struct Decoder {
  Linear hidden, out;
  explicit Decoder(const Scope& at)
      : hidden(make_linear(at / "hidden", DType::f32, kLatent, 64)),
        out(make_linear(at / "out", DType::f32, 64, kPixels)) {}
  Value operator()(Value z) const { return out(silu(hidden(z))); }
};

int main() {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", kPixels});
  const Scope net(g, "net");
  const Value h = silu(linear(net / "encoder", x, 64));
  const Value mu = linear(net / "mean", h, kLatent);
  const Value log_variance = linear(net / "log_variance", h, kLatent);
  const Value noise = normal(g.key("latent"), mu.shape());
  const Decoder decode(net / "decoder");
  const Value logits = decode(mu + exp(0.5 * log_variance) * noise);

  const Value fit = bce_with_logits(logits, x, Reduction::batch_mean);
  const Value kl = mean(0.5 * sum(square(mu) + exp(log_variance) - log_variance - 1, {1}));
  const Value loss = fit + kl;
  Program train("train");
  train.output("fit", fit).output("kl", kl).update(adamw(loss, g.parameters(), {.lr = 0.003}));
  Program encode("encode");  // draws no random numbers, so the key does not advance
  encode.output("mean", mu);
  const Value z = g.input("z", DType::f32, {"pictures", kLatent});
  Program draw("draw");
  draw.output("pixels", sigmoid(decode(z)));

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 1500; ++step) {
    const Results now = session.run(train, {{"x", make_pictures(64, step)}});
    if (step % 500 == 0)
      std::printf("step %4u  fit %.2f  kl %.2f\n", step, now["fit"].item<float>(),
                  now["kl"].item<float>());
  }
  save_checkpoint("vae.weft", session, {encode, draw});  // without optimizer state

  // Encodes and decodes a new image.
  const Tensor picture = make_pictures(1, 0);
  const Tensor code = session.run(encode, {{"x", picture}})["mean"];
  const Tensor again = session.run(draw, {{"z", code}})["pixels"];
  std::printf("code %.2f, %.2f\n", code.at(0), code.at(1));
  double error = 0;
  for (int p = 0; p < kPixels; ++p) {
    const double difference = picture.at(p) - again.at(p);
    error += difference * difference / kPixels;
    const auto shade = [](double v) { return " .:*#"[static_cast<int>(v * 4.99)]; };
    std::printf("%c", shade(again.at(p)));
    if (p % kSide == kSide - 1) std::printf("\n");
  }
  std::printf("mean squared error of its pixels %.4f\n", error);
  return error < 0.01 ? 0 : 1;
}
