// weft train seq2seq: an encoder-decoder that learns from plain text, or from pairs of texts.
#include "weft/models/program/train/train_seq2seq.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "weft/models/hf/published.h"
#include "weft/models/program/console.h"
#include "weft/models/train/translator_presets.h"

namespace weft::program {
namespace {

constexpr const char* kTranslation = "translation";

std::string task_of(const Translator& model) {
  return model.denoising ? std::string(field_name(model.denoising->objective)) : kTranslation;
}

/// UsageError for options that a run that goes on cannot follow.
Translator resumed_translator(const Seq2SeqArguments& args) {
  check_resume(args);
  args.refuse({"--vocab", "--from", "--new", "--freeze", "--layer-lr-decay"},
              "cannot be given with --resume: it is as the file says");
  for (const auto& [field, value] : args.denoising.items()) {
    throw UsageError(fmt::format("{} cannot be given with --resume: it is as the file says",
                                 option_name(field)));
  }
  Translator model = load_translator(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  model.settings = resumed_settings(model.settings, args);
  return model;
}

int run(Seq2SeqArguments args) {
  std::optional<Translator> resumed;
  if (!args.has("--task")) args.task = kTranslation;
  if (!args.resume.empty()) {
    resumed = resumed_translator(args);
    // A file knows its task.
    const std::string task = task_of(*resumed);
    if (args.has("--task") && args.task != task) {
      throw UsageError(fmt::format("--task {} cannot be given with --resume: {} learns {}",
                                   args.task, args.resume, task));
    }
    args.task = task;
  }
  const bool translation = args.task == kTranslation;
  args.plan_files(translation ? std::vector<std::string>{kMeasure, kAttention}
                              : std::vector<std::string>{});
  return translation ? train_translator(args, std::move(resumed))
                     : pretrain_seq2seq(args, std::move(resumed));
}

std::string all_presets() {
  return preset_help(translator_presets()) + "\npre-training:" + preset_lines(denoising_presets()) +
         "\n(default: as the task's paper)";
}

}  // namespace

void print_seq2seq(const Translator& model) {
  const EncoderDecoderConfig& c = model.config;
  say("model     encoder-decoder: {} + {} layers, {} heads, width {}, {} {}: {} parameters\n",
      c.encoder_layers, c.decoder_layers, c.encoder_heads, c.width, grouped(c.vocab),
      model.tokenizer.reads_characters() ? "characters" : "pieces",
      grouped(hf::count_parameters(*model.graph)));
}

void add_train_seq2seq(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "seq2seq", "Train an encoder-decoder: on plain text, then on pairs of texts, to translate");
  const auto args = std::make_shared<Seq2SeqArguments>();
  std::vector<std::string> tasks = {kTranslation};
  tasks.insert(tasks.end(), kDenoisingObjectives.begin(), kDenoisingObjectives.end());
  OptionList options(*command);
  options.choice("--task", tasks, args->task,
                 "translation = learn from --pairs (default). Pre-training on --text: "
                 "span-corruption = find what hidden spans were (T5); ul2 = the same, lightly or "
                 "heavily, or go on with a text (UL2's mixture); denoising = write a text again "
                 "without noise (BART); gap-sentences = write the sentences that say most of "
                 "the others (PEGASUS)");
  options.input("--pairs", args->pairs,
                "file to learn from: source <tab> target on every line; some of the sources "
                "validate, some test");
  options.inputs("--text", args->text,
                 "pre-training: UTF-8 files, a sentence per line and a blank line between "
                 "documents");
  options.integer("--vocab", args->vocab, kVocabRange,
                  "pieces of words, of both languages together (pre-training: default 4000)");
  add_start_options(*command, *args,
                    "translation: start from the weights, config and pieces of this .weft file, "
                    "pre-trained or not (preset: fine-tune)",
                    "encoder.*");
  add_field_options(*command, "Pre-training", DenoisingOptions{}.to_json(), {"objective"},
                    args->denoising);
  add_train_options(*command, all_presets(), EncoderDecoderConfig{}.to_json(),
                    {"vocab", "decoder_vocab", "family", "start_id", "padding_id", "decoder_start"},
                    *args);
  command->callback([args, command, &action] {
    args->remember(*command);
    action = [args] { return run(*args); };
  });
}

}  // namespace weft::program
