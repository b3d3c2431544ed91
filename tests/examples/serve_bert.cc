// A new classification head on a published BERT model, served by four threads. Usage: serve_bert
// FOLDER. FOLDER is a Hugging Face folder with an encoder and its tokenizer. The embeddings are
// frozen, and the layers and the head are trained. Then four Sessions share one copy of the
// weights.
#include <atomic>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/encoder.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/training/fine_tune.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/weights.h"

using namespace weft;

/// Returns random texts. Texts that end with "good" have class 1.
std::vector<std::string> make_texts(int n, unsigned seed, std::vector<std::int32_t>* labels) {
  const std::vector<std::string> words = {"the", "film", "was", "it"};
  std::mt19937 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < n; ++i) {
    const std::int32_t label = static_cast<std::int32_t>(random() % 2);
    std::string text = words[random() % words.size()];
    for (int more = 0; more < 4; ++more) text += " " + words[random() % words.size()];
    texts.push_back(label == 1 ? text + " good" : text);
    labels->push_back(label);
  }
  return texts;
}

int main(int, char** arguments) {
  const Pretrained bert = load_pretrained(arguments[1]);
  const auto& config = bert.config_of<EncoderConfig>();
  Graph g;
  const Value tokens = g.input("tokens", DType::i32, {"batch", "seq"});
  const Value mask = g.input("mask", DType::i32, {"batch", "seq"});
  const Value label = g.input("label", DType::i32, {"batch"});
  const Encoder encoder(Scope(g).evaluation(), config);  // without dropout, for both programs
  freeze(g, {"embeddings.*"});
  const Value h = encoder({.ids = tokens, .attention_mask = mask}).last_hidden_state;
  const Value logits = linear(Scope(g, "head"), mean_of_tokens(h, mask), 2);
  const Value loss = cross_entropy(logits, label);
  Program train("train");
  train.output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 0.01}));
  Program classify("classify");
  classify.output("probability", softmax(logits, -1));

  const auto store = std::make_shared<VariableStore>();
  load_weights(*store, g, bert.weights, bert.source);
  store->allow_initialisation(
      {"head.weight", "head.bias"});  // otherwise a missing weight is an error
  const TextReader reader(config, bert.tokenizer(), {});
  const auto inputs_of = [&](const std::string& text) {
    const TextRow row = reader.row(text);
    return reader.inputs(std::vector{&row});
  };
  {
    Session session(g, store, {.seed = 1});
    float last = 0;
    for (unsigned step = 0; step < 200; ++step) {
      std::vector<std::int32_t> labels;
      const std::vector<std::string> texts = make_texts(16, step, &labels);
      const std::vector<TextRow> rows = reader.rows(texts, {});
      std::vector<const TextRow*> places;
      for (const TextRow& row : rows) places.push_back(&row);
      NamedTensors feeds = reader.inputs(places);
      feeds.emplace_back("label", Tensor::of<std::int32_t>({16}, labels));
      last = session.run(train, feeds)["loss"].item<float>();
    }
    std::printf("last training loss: %.3f\n", last);
  }

  // Each thread has its own Session with one worker; the shared store is never copied.
  std::vector<std::int32_t> labels;
  const std::vector<std::string> requests = make_texts(400, 1000, &labels);
  std::atomic<std::size_t> next = 0, right = 0;
  const auto serve = [&] {
    Session session(g, store, {.threads = 1, .prepack = true});
    for (std::size_t i = next++; i < requests.size(); i = next++) {
      const Results result = session.run(classify, inputs_of(requests[i]));
      if ((result["probability"].at(1) > 0.5) == (labels[i] == 1)) ++right;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(serve);
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu of %zu texts classified correctly by four threads\n", right.load(),
              requests.size());
  return right > 380 ? 0 : 1;
}
