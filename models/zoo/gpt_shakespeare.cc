// Trains a character-level LLaMA-style decoder on plays from scratch, evaluates and saves it, loads
// it again and generates text.
//
//   zoo_gpt_shakespeare TEXT [STEPS]
#include <fmt/format.h>

#include <cstdlib>

#include "weft/models/generate/generator.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

namespace {

void run(const std::string& path, std::int64_t steps) {
  // 1. Data: the characters of a text. The last tenth is held out.
  const std::string text = read_utf8_file(path);
  const CharacterTokenizer letters = CharacterTokenizer::from_text(text);
  const TextData data(letters.encode(text), 0.1);

  // 2. Model: RMS norms, rotary positions, gated feed-forward layers, grouped-query attention.
  Preset<GptConfig> preset = find_preset(gpt_presets(), "llama-cpu");
  preset.model.vocab = letters.vocab_size();
  if (steps > 0) {
    preset.training.steps = steps;
    preset.training.warmup = steps / 10;
  }
  LanguageModel model = trainable(build_language_model(preset.model, letters, preset.training));
  Session session(*model.graph, model.store, {.seed = preset.training.seed});

  // 3. Training, with evaluations on samples of the held-out text and finally on all of it.
  zoo::PrintProgress progress;
  Trainer trainer(session, text_task(session, model, data, model.config.context),
                  {.settings = model.settings, .observer = &progress});
  trainer.run();

  // 4. The file contains the whole model, so loading it requires none of the code above.
  model.history = trainer.history();
  save_model("shakespeare.weft", model);
  const LanguageModel loaded = load_model<LanguageModel>("shakespeare.weft");
  Session fresh(*loaded.graph, loaded.store);
  Generator generator(fresh, loaded.program("decode"), loaded.config);
  const std::vector<std::int32_t> start = loaded.tokenizer.encode("\nROMEO:\n");
  const GenerationOptions options{
      .max_new = 300, .sampling = SamplingOptions{.temperature = 0.8, .seed = 7}, .slide = true};
  const SearchResult written =
      generator.generate({TokenIds(start.begin(), start.end())}, options).run();
  const TokenIds& ids = written.sequences.front();
  fmt::print("{}\n", loaded.tokenizer.decode(ids));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: zoo_gpt_shakespeare TEXT [STEPS]\n");
    return 2;
  }
  return zoo::exit_code("gpt_shakespeare",
                        [&] { run(argv[1], argc == 3 ? std::atoll(argv[2]) : 0); });
}
