// Serves eight requests of different lengths with one model. The requests have their own options,
// join and leave while others run, and share three slots of key and value caches. Each text equals
// the text that the same model generates for the request alone.
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/generator.h"

using namespace weft;

int main() {
  GptConfig config = GptConfig::llama();
  config.vocab = 100;
  config.layers = 2;
  config.heads = 4;
  config.width = 64;
  config.context = 64;
  config.initializer_range = 0.2;  // random weights, instead of a trained model
  Graph g;
  const Gpt gpt(Scope(g), config);
  const Value tokens = g.input("tokens", DType::i64, {"rows", "new"});
  const Program slots = gpt.slots_program(tokens), decode = gpt.decode_program(tokens);

  std::vector<TokenIds> prompts;
  std::vector<GenerationOptions> options(8);
  for (std::int64_t i = 0; i < 8; ++i) {
    TokenIds& prompt = prompts.emplace_back();
    while (std::ssize(prompt) < 1 + 4 * i)
      prompt.push_back((37 * i + 11 * std::ssize(prompt)) % 100);
    options[static_cast<std::size_t>(i)].max_new = 30 - 3 * i;
  }
  options[2].sampling = SamplingOptions{.temperature = 0.8, .top_p = 0.9, .seed = 7};
  options[5].sampling = SamplingOptions{.top_k = 10, .seed = 8};
  options[6].repetition_penalty = 1.3;

  const auto store = std::make_shared<VariableStore>();
  Session session(g, store, {.seed = 1});
  BatchGenerator batch(session, slots, config, {.slots = 3, .chunk = 16});
  std::map<std::int64_t, TokenIds> texts;
  const auto add = [&] {
    const std::size_t next = texts.size();
    texts[batch.add(prompts[next], options[next])] = prompts[next];
  };
  while (texts.size() < 4) add();
  while (const auto token = batch.next()) {
    texts[token->request].push_back(token->id);
    if (token->finish && texts.size() < prompts.size()) add();  // a new request for each that ends
  }

  Session alone(g, store);
  Generator generator(alone, decode, config);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto expected = generator.generate({prompts[i]}, options[i]).run().sequences;
    if (texts[static_cast<std::int64_t>(i)] == expected.front()) ++equal;
  }
  std::printf("%zu of %zu texts equal those generated alone\n", equal, prompts.size());
  return equal == prompts.size() ? 0 : 1;
}
