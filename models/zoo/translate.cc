// Trains a Transformer for translation from scratch. Learns a subword vocabulary from sentence
// pairs, trains, evaluates and saves the model, loads it again and translates.
//
//   zoo_translate PAIRS.tsv [STEPS]      source <tab> target on every line
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/tasks/seq2seq/translator_task.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

namespace {

/// Learns a joint BPE vocabulary from both languages, so that a name or a number has the same
/// subwords on both sides.
Tokenizer learn_pieces(const std::vector<TextPair>& pairs, std::int64_t vocab) {
  std::vector<std::string> texts;
  for (const TextPair& pair : pairs) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  return Tokenizer(SentencePieceTokenizer::train(texts, {.vocab = vocab}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: zoo_translate PAIRS.tsv [STEPS]\n");
    return 2;
  }
  // 1. Data. All translations of a source sentence are in the same split, so no source sentence of
  // the test set is in the training set. The subword vocabulary is learned from the training set.
  Preset<EncoderDecoderConfig> preset = find_preset(translator_presets(), "eng-swe-short");
  if (argc > 2) {
    preset.training.steps = std::atoll(argv[2]);
    preset.training.warmup = std::min(preset.training.warmup, preset.training.steps / 10);
  }
  const TextPairSplit data = split_by_source(
      read_text_pairs(argv[1]), preset.training.validation_fraction, preset.training.seed);

  // 2. Model: a small version of the Transformer (Vaswani et al. 2017).
  Seq2SeqModel model = trainable(build_translator(
      preset.model, learn_pieces(data.train, preset.model.vocab), preset.training));
  Session session(*model.graph, model.store,
                  session_options(model, {.seed = preset.training.seed}));

  // 3. Training on batches of pairs with similar lengths, with perplexity and BLEU on the
  // validation set.
  TranslatorData task_data(data, model, bleu_metric);
  zoo::PrintProgress progress(100);
  Trainer trainer(session, translator_task(session, model, task_data),
                  {.settings = preset.training, .observer = &progress});
  trainer.run();

  // 4. Evaluation on the test set, which is used only once.
  const double loss = mean_loss(session, model.program("evaluate"),
                                make_pair_batches(encode_pairs(data.test, model), model));
  const Translations test =
      translate_cases(session, model, group_by_source(data.test), {.beams = 4});
  const Bleu bleu = corpus_bleu(test.outputs, test.references);
  fmt::print("test: perplexity {:.2f}, {}\n{}\n", std::exp(loss), bleu.to_string(), bleu.signature);

  // 5. The file contains the whole model, so loading it requires none of the code above.
  model.history = trainer.history();
  save_model("translate.weft", model);
  const Seq2SeqModel loaded = load_model<Seq2SeqModel>("translate.weft");
  Session fresh(*loaded.graph, loaded.store);
  const std::vector<std::string> texts = {"I am hungry.", "Where is the train station?",
                                          "Tom bought a new car yesterday."};
  const std::vector<std::string> outputs = translate(fresh, loaded, texts, {.beams = 4});
  for (std::size_t i = 0; i < texts.size(); ++i) fmt::print("{} -> {}\n", texts[i], outputs[i]);
}
