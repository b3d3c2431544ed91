// Trains an encoder-decoder from scratch to reverse strings, evaluates and saves it, loads it again
// and runs it.
//
//   zoo_reverse [STEPS]
#include <fmt/format.h>

#include <cstdlib>

#include "weft/models/data/formats/reversal.h"
#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/tasks/seq2seq/translator_task.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

int main(int argc, char** argv) {
  // 1. Data: random strings with 1 to 20 letters. No held-out string is in the training set.
  const TextPairSplit data = split_by_source(reversal_pairs(40000, 1), 0.025, 1);

  // 2. Model: a Transformer over letters with two layers of width 64.
  Preset<EncoderDecoderConfig> preset = find_preset(translator_presets(), "reversal");
  if (argc > 1) preset.training.steps = std::atoll(argv[1]);
  const Tokenizer letters(CharacterTokenizer::from_text(ReversalOptions{}.alphabet));
  Seq2SeqModel model = trainable(build_translator(preset.model, letters, preset.training));
  Session session(*model.graph, model.store,
                  session_options(model, {.seed = preset.training.seed}));

  // 3. Training on batches of strings of similar length, with evaluations on the validation set.
  TranslatorData task_data(data, model, exact_match_metric);
  zoo::PrintProgress progress;
  Trainer trainer(session, translator_task(session, model, task_data),
                  {.settings = preset.training, .observer = &progress});
  trainer.run();

  // 4. Evaluation on the test set, which has not been used before.
  const Translations test = translate_cases(session, model, group_by_source(data.test));
  fmt::print("exact match on {} held-out strings: {:.2f}%\n", test.outputs.size(),
             100 * exact_match(test.outputs, test.references));

  // 5. The file contains the whole model, so loading it requires none of the code above.
  model.history = trainer.history();
  save_model("reverse.weft", model);
  const Seq2SeqModel loaded = load_model<Seq2SeqModel>("reverse.weft");
  Session fresh(*loaded.graph, loaded.store);
  const std::vector<std::string> words = {"transformer", "weft", "abcdefghijklmnopqrst"};
  const std::vector<std::string> answers = translate(fresh, loaded, words);
  for (std::size_t i = 0; i < words.size(); ++i) fmt::print("{} -> {}\n", words[i], answers[i]);
}
