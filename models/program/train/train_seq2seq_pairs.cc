// weft train seq2seq --task translation
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "weft/models/data/reversal.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_seq2seq.h"
#include "weft/models/train/pretrained_folder.h"
#include "weft/models/train/svg_heat_map.h"
#include "weft/models/train/svg_plot.h"
#include "weft/models/train/translator_presets.h"
#include "weft/models/train/translator_task.h"

namespace weft::program {
namespace {

constexpr const char* kReversal = "reversal";
constexpr std::int64_t kStrings = 40000;
constexpr std::int64_t kBeams = 4;

/// What is learnt from, split into its parts.
TextPairSplit read_data(const Seq2SeqArguments& args, const TrainSettings& settings) {
  std::int64_t more_columns = 0;
  const std::vector<TextPair> pairs = args.pairs.empty()
                                          ? reversal_pairs(kStrings, settings.seed)
                                          : read_text_pairs(args.pairs, &more_columns);
  if (more_columns > 0) {
    say("columns   {} lines of {} have more than two: the others are not read\n",
        grouped(more_columns), args.pairs);
  }
  return as_usage(
      [&] { return split_by_source(pairs, settings.validation_fraction, settings.seed); });
}

SequenceTokenizer make_tokenizer(const std::vector<TextPair>& train, std::int64_t vocab) {
  std::vector<std::string> texts;
  for (const TextPair& pair : train) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  return SequenceTokenizer(SentencePieceTokenizer::train(texts, {.vocab = vocab}));
}

Translator new_model(const Seq2SeqArguments& args, const Preset<EncoderDecoderConfig>& preset,
                     const TextPairSplit& data) {
  const EncoderDecoderConfig config = model_config(preset.model, args);
  const SequenceTokenizer tokenizer =
      preset.name == kReversal
          ? SequenceTokenizer(CharacterTokenizer::from_text(ReversalOptions{}.alphabet))
          : as_usage([&] { return make_tokenizer(data.train, args.vocab.value_or(config.vocab)); });
  return as_usage([&] {
    return make_translator(config, tokenizer, preset.training, {args.freeze, args.layer_lr_decay});
  });
}

/// A model that starts from the weights of --from.
Translator adapted_model(const Seq2SeqArguments& args) {
  const Preset<EncoderDecoderConfig> preset = chosen_preset(translator_fine_tuning_presets(), args);
  const Translator base = load_translator(args.from);
  if (base.tokenizer.reads_characters()) {
    throw UsageError(fmt::format(
        "{} reads characters, as strings that are reversed do: pairs need a model of pieces",
        args.from));
  }
  Translator model = as_usage([&] {
    return make_translator(model_config(base.config, args), base.tokenizer, preset.training,
                           {args.freeze, args.layer_lr_decay});
  });
  const StartReport report = as_fitting([&] {
    return start_from(*model.store, *model.graph, weights_of(*base.graph, *base.store), args.from,
                      args.anew);
  });
  say("from      {}: {}\nsettings  those of training, of preset {}\n", args.from, report.str(),
      preset.name);
  return model;
}

void check_resumed(const Translator& model, const Seq2SeqArguments& args) {
  if (model.tokenizer.reads_characters() != args.pairs.empty()) {
    throw UsageError(args.pairs.empty()
                         ? "--pairs is required: the pairs that the run in --resume learns from"
                         : "the run in --resume learns to reverse strings: it takes no --pairs");
  }
}

void print_data(const TextPairSplit& data) {
  say("pairs     {} to train on, {} to validate, {} to test; no source is in two parts\n",
      grouped(static_cast<std::int64_t>(data.train.size())),
      grouped(static_cast<std::int64_t>(data.validation.size())),
      grouped(static_cast<std::int64_t>(data.test.size())));
}

/// The figures of the part that nothing was chosen by.
void print_test(Session& session, const Translator& model, const std::vector<TextPair>& test) {
  const PairBatches pairs = make_pair_batches(test, model.tokenizer, model.settings);
  const std::vector<TranslationCase> cases = group_by_source(test);
  const double loss = mean_loss(session, model.programs.evaluate, pairs);
  const Translations greedy = translate_cases(session, model, cases);
  say("test      {} sources: loss {:.4f}, perplexity {:.3f}\n", cases.size(), loss, std::exp(loss));
  if (model.tokenizer.reads_characters()) {
    say("test      exact match {:.2f}%\n", 100 * exact_match(greedy.outputs, greedy.references));
    return;
  }
  const Translations beams = translate_cases(session, model, cases, {.beams = kBeams});
  for (const auto& [name, found] : {std::pair("greedy", &greedy), std::pair("beams", &beams)}) {
    const Bleu bleu = corpus_bleu(found->outputs, found->references);
    say("{:9} {}, chrF2 = {:.2f}, exact match {:.2f}%\n", name, bleu.to_string(),
        corpus_chrf(found->outputs, found->references),
        100 * exact_match(found->outputs, found->references));
  }
  say("signature {} ({} beams)\n", corpus_bleu(greedy.outputs, greedy.references).signature,
      kBeams);
  constexpr std::size_t kSamples = 10;
  for (std::size_t i = 0; i < std::min(kSamples, cases.size()); ++i) {
    // Spread over the part, its shortest and longest texts left out.
    const std::size_t at = (2 * i + 1) * cases.size() / (2 * std::min(kSamples, cases.size()));
    say("\nsource    {}\nreference {}\ngreedy    {}\nbeams     {}\n", cases[at].source,
        fmt::join(cases[at].references, " | "), greedy.outputs[at], beams.outputs[at]);
  }
  say("\n");
}

/// Measures over the steps, and what the last layer's heads looked at in one translation.
void write_plots(Session& session, const Translator& model, const std::vector<TextPair>& test,
                 const Seq2SeqArguments& args) {
  std::vector<PlotSeries> series;
  std::string measure;
  for (const auto& [name, points] : model.history.metrics) {
    if (name == "perplexity") continue;
    measure = name;
    PlotSeries& line = series.emplace_back(PlotSeries{.name = name});
    for (const auto& [step, value] : points) line.points.emplace_back(step, value);
  }
  const std::string title = model_name(args.destination());
  const OutputFile measures = args.file(kMeasure), maps = args.file(kAttention);
  write_text(measures,
             svg_line_plot(
                 series, {.title = title + ": validation", .x_label = "step", .y_label = measure}));
  // A text of middling length: readable, and with something to see.
  const TextPair& shown = test[test.size() / 2];
  const std::string output = translate(session, model, {shown.source}).front();
  const CrossAttention found = cross_attention(session, model, shown.source, output);
  const Tensor& last = found.layers.back();
  const std::int64_t heads = last.size(0), rows = last.size(1), columns = last.size(2);
  const auto* values = last.data<float>();
  std::vector<HeatMap> panels;
  for (std::int64_t head = 0; head < heads; ++head) {
    const float* first = values + head * rows * columns;
    panels.push_back({.title = fmt::format("head {}", head),
                      .rows = rows,
                      .columns = columns,
                      .values = {first, first + rows * columns},
                      .row_labels = found.target,
                      .column_labels = found.source,
                      .low = 0,
                      .high = 1,
                      .show_values = false});
  }
  write_text(maps, svg_heat_maps(panels, {.title = title + ": what the last layer looks at",
                                          .panels_per_row = 2}));
  say("plots     {}, {}\n", measures.path(), maps.path());
}

/// A new model and what it learns from.
Translator start(const Seq2SeqArguments& args, TextPairSplit& data) {
  constexpr const char* kPairsRequired =
      "--pairs is required: the file to learn from, source <tab> target on a line";
  if (!args.from.empty()) {
    args.refuse({"--vocab"}, "cannot be given with --from: its tokenizer is used");
    if (args.pairs.empty()) throw UsageError(kPairsRequired);
    Translator model = adapted_model(args);
    data = read_data(args, model.settings);
    return model;
  }
  args.refuse({"--new"}, "needs --from");
  const Preset<EncoderDecoderConfig> preset = chosen_preset(translator_presets(), args);
  const bool reversal = preset.name == kReversal;
  if (args.pairs.empty() && !reversal) throw UsageError(kPairsRequired);
  if (!args.pairs.empty() && reversal)
    throw UsageError("the preset reversal makes its own strings: it takes no --pairs");
  if (args.vocab && reversal)
    throw UsageError("the preset reversal reads characters: it takes no --vocab");
  data = read_data(args, preset.training);
  return new_model(args, preset, data);
}

}  // namespace

int train_translator(const Seq2SeqArguments& args, std::optional<Translator> resumed) {
  args.refuse({"--text"}, "is for pre-training: --task says which");
  for (const auto& [field, value] : args.denoising.items())
    throw UsageError(fmt::format("{} is for pre-training: --task says which", option_name(field)));
  TextPairSplit data;
  if (resumed) {
    check_resumed(*resumed, args);
    data = read_data(args, resumed->settings);
  }
  Translator model = resumed ? *std::move(resumed) : start(args, data);

  SessionOptions options = args.session_options(model.settings);
  options.plan_cache = kTranslatorPlans;
  Session session(*model.graph, model.store, options);
  print_seq2seq(model);
  print_data(data);
  print_training(model.settings, "tokens");
  TranslatorData task_data(data, model,
                           model.tokenizer.reads_characters() ? exact_match_metric : bleu_metric);
  const TrainTask task = translator_task(session, model, task_data);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome = run_training(
      session,
      run_of(model, task, &save_translator,
             "weft train seq2seq" + (args.pairs.empty() ? "" : " --pairs " + args.pairs)),
      args);
  if (outcome.stopped) return 0;
  print_test(session, model, data.test);
  write_plots(session, model, data.test, args);
  return 0;
}

}  // namespace weft::program
