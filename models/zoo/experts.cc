// Compares a mixture of experts with a dense decoder of equal active parameters: equal numbers of
// steps and characters, the same batches, several seeds.
//
//   zoo_experts TEXT [STEPS [SEEDS [THREADS]]]
//
// The dense model is the preset llama-cpu. In the mixture, two of eight experts of half the inner
// width process each character.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/tokenizers/character.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/experiments/compare_training.h"

using namespace weft;

namespace {

void run(const std::string& path, std::int64_t steps, std::int64_t seeds, int threads) {
  const std::string text = read_utf8_file(path);
  const CharacterTokenizer letters = CharacterTokenizer::from_text(text);
  const TextData data(letters.encode(text), 0.1);
  Preset<GptConfig> preset = find_preset(gpt_presets(), "llama-cpu");
  preset.model.vocab = letters.vocab_size();
  preset.training.steps = steps;
  preset.training.warmup = steps / 20;
  preset.training.batch = 24;
  const GptConfig mixture = zoo::mixture_of(preset.model, 8, 2);
  fmt::print("{:>4}  {:8} {:>10} {:>10} {:>15} {:>8}\n", "seed", "model", "parameters", "active",
             "validation loss", "ms/step");
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    preset.training.seed = static_cast<std::uint64_t>(seed);
    const auto progress = [&](std::int64_t step) {
      if (step % 100 == 0) fmt::print(stderr, "seed {}: step {} of {}\n", seed, step, steps);
    };
    const std::vector<zoo::ComparedModel> results = zoo::compare_training(
        {preset.model, mixture}, preset.training, letters, data, threads, progress);
    for (const zoo::ComparedModel& r : results) {
      fmt::print("{:4}  {:8} {:10} {:10} {:15.4f} {:8.1f}\n", seed,
                 r.active < r.parameters ? "experts" : "dense", r.parameters, r.active, r.loss,
                 1e3 * r.seconds);
    }
    fmt::print("      difference of losses {:.4f}, ratio of step times {:.2f}\n",
               results[1].loss - results[0].loss, results[1].seconds / results[0].seconds);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return argc > i ? std::strtoll(argv[i], nullptr, 10) : otherwise;
  };
  const std::int64_t steps = number(2, 600), seeds = number(3, 3), threads = number(4, 0);
  if (argc < 2 || argc > 5 || steps < 1 || seeds < 1 || threads < 0) {
    fmt::print(stderr, "usage: zoo_experts TEXT [STEPS [SEEDS [THREADS]]]\n");
    return 2;
  }
  return zoo::exit_code("experts", [&] { run(argv[1], steps, seeds, static_cast<int>(threads)); });
}
