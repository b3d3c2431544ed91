// weft train seq2seq --task span-corruption|ul2|denoising|gap-sentences
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "weft/models/program/console.h"
#include "weft/models/program/train/train_seq2seq.h"
#include "weft/models/train/denoising_task.h"
#include "weft/models/train/translator_presets.h"

namespace weft::program {
namespace {

constexpr std::int64_t kVocab = 4000;
constexpr std::int64_t kSamples = 3;

DenoisingOptions denoising_options(const Seq2SeqArguments& args) {
  return as_usage([&] {
    FieldValues fields = args.denoising;
    fields["objective"] = args.task;
    const DenoisingOptions options = with_fields(DenoisingOptions{}, fields);
    std::vector<std::string> used = fields_of(options.objective);
    used.emplace_back("passage");
    for (const auto& [field, value] : args.denoising.items()) {
      if (std::find(used.begin(), used.end(), field) == used.end())
        throw UsageError(fmt::format("{} is not for --task {}", option_name(field), args.task));
    }
    return options;
  });
}

Translator new_model(const Seq2SeqArguments& args, const std::vector<TextDocument>& documents) {
  const DenoisingOptions options = denoising_options(args);
  Seq2SeqArguments chosen = args;
  if (chosen.preset.empty()) chosen.preset = default_preset(options.objective);
  const Preset<EncoderDecoderConfig> preset = chosen_preset(denoising_presets(), chosen);
  const EncoderDecoderConfig config = model_config(preset.model, args);
  const auto tokenizer = as_usage([&] {
    return make_denoising_tokenizer(sentences(documents), args.vocab.value_or(kVocab), options);
  });
  return as_usage(
      [&] { return make_denoising_model(config, tokenizer, preset.training, options); });
}

Passages passages_of(const Translator& model, const std::vector<TextDocument>& documents,
                     const char* part) {
  try {
    return make_passages(model, documents);
  } catch (const ArgumentError& e) {
    throw UsageError(
        fmt::format("the {} part of the text: {} (a blank line ends a document; "
                    "--validation-fraction says how many of them validate)",
                    part, e.what()));
  }
}

void print_samples(Session& session, const Translator& model, const Passages& passages) {
  for (const Denoised& sample : denoise(session, model, passages, kSamples)) {
    say("\ninput     {}\ntarget    {}\noutput    {}\n", sample.input, sample.target, sample.output);
  }
}

}  // namespace

int pretrain_seq2seq(const Seq2SeqArguments& args, std::optional<Translator> resumed) {
  args.refuse({"--pairs"}, fmt::format("is for --task translation: {} reads --text", args.task));
  args.refuse({"--from", "--new", "--freeze", "--layer-lr-decay"}, "is for --task translation");
  if (args.text.empty()) throw UsageError("--text is required: files to learn from");
  std::vector<TextDocument> documents = read_documents(args.text);
  Translator model = resumed ? *std::move(resumed) : new_model(args, documents);
  const auto [first, second] =
      split_documents(std::move(documents), model.settings.validation_fraction);
  const Passages train = passages_of(model, first, "training");
  std::optional<Passages> held_out;
  if (!second.empty()) held_out = passages_of(model, second, "validation");

  print_seq2seq(model);
  say("objective {}, passages of up to {} tokens\n", field_name(model.denoising->objective),
      model.denoising->passage);
  say("text      {} documents, {} tokens to train on, {} to validate\n", grouped(train.documents()),
      grouped(train.tokens()), grouped(held_out ? held_out->tokens() : 0));
  print_training(model.settings, "tokens");
  SessionOptions options = args.session_options(model.settings);
  options.plan_cache = kTranslatorPlans;
  Session session(*model.graph, model.store, options);
  const TrainTask task = denoising_task(session, model, train, held_out ? &*held_out : nullptr);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session,
                   run_of(model, task, &save_translator,
                          fmt::format("weft train seq2seq --text {}", fmt::join(args.text, " "))),
                   args);
  if (outcome.stopped || !held_out) return 0;
  say("held out  loss {:.4f}, perplexity {:.3f}\n", outcome.evaluation.loss,
      std::exp(outcome.evaluation.loss));
  print_samples(session, model, *held_out);
  return 0;
}

}  // namespace weft::program
