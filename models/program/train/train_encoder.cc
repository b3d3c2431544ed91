// weft train encoder: masked-language-model pre-training, and classifiers of texts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "weft/models/data/labelled_text.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/train/encoder_presets.h"
#include "weft/models/train/fine_tune.h"
#include "weft/models/train/masked_lm.h"
#include "weft/models/train/pretrained_encoder.h"
#include "weft/models/train/text_classifier.h"

namespace weft::program {
namespace {

struct EncoderArguments : TrainArguments {
  std::string task = "mlm";
  std::vector<std::string> text, data;
  std::string label = "auto", held_out = "test", from;
  std::vector<std::string> freeze, anew;
  std::uint64_t split_seed = 1;
  double test_fraction = 0.2, layer_lr_decay = 1;
  std::int64_t vocab = 4000;
  bool whole_words = false;
};

struct Parts {
  LabelledText train, held_out;
};

/// The labelled data in the parts that this run uses. What was chosen on the validation part can be
/// measured on the test part later: it is not in either of the former's parts.
Parts labelled_parts(const EncoderArguments& args) {
  const LabelledText all = read_labelled_text(args.data, parse_label_side(args.label));
  const Split split = stratified_split(all.labels, args.test_fraction, args.split_seed);
  LabelledText train = all.subset(split.train);
  if (args.held_out == "test") return {std::move(train), all.subset(split.test)};
  const Split inner = stratified_split(train.labels, args.test_fraction, args.split_seed);
  return {train.subset(inner.train), train.subset(inner.test)};
}

void print_encoder(const EncoderConfig& c, const Graph& graph) {
  std::int64_t parameters = 0;
  for (const Variable& variable : graph.variables()) {
    if (variable.info().kind != VariableKind::parameter) continue;
    std::int64_t size = 1;
    for (int axis = 0; axis < variable.shape().rank(); ++axis)
      size *= variable.shape()[axis].constant();
    parameters += size;
  }
  fmt::print(
      "model     encoder: {} layers, {} heads, width {}, context {}, {} pieces: {} parameters\n",
      c.layers, c.heads, c.width, c.context, c.vocab, grouped(parameters));
}

EncoderConfig config_for(const EncoderConfig& preset, const SentencePieceTokenizer& tokenizer,
                         const EncoderArguments& args) {
  return as_usage([&] {
    EncoderConfig config = with_fields(preset, args.model);
    config.vocab = tokenizer.vocab_size();
    config.padding_id = tokenizer.pad_id();
    return config;
  });
}

template <class Model>
TrainRun run_of(Model& model, TrainTask task, void (*save)(const std::string&, const Model&),
                const std::string& command) {
  return {.task = std::move(task),
          .settings = model.settings,
          .history = model.history,
          .save =
              [&model, save](const std::string& path, const TrainHistory& history) {
                model.history = history;
                save(path, model);
              },
          .command = command};
}

std::string command_line(const EncoderArguments& args) {
  std::string line = "weft train encoder --task " + args.task;
  if (!args.text.empty()) line += fmt::format(" --text {}", fmt::join(args.text, " "));
  if (!args.data.empty()) line += fmt::format(" --data {}", fmt::join(args.data, " "));
  return line;
}

int pretrain(const EncoderArguments& args) {
  if (args.text.empty() && args.data.empty())
    throw UsageError("--text or --data is required: files to learn from");
  if (!args.from.empty() || !args.freeze.empty() || !args.anew.empty() || args.layer_lr_decay != 1)
    throw UsageError("--from, --new, --freeze and --layer-lr-decay are for --task classify");
  // Of labelled data only the texts that are trained on later: the test part stays unseen.
  std::vector<std::string> texts;
  if (!args.data.empty()) texts = labelled_parts(args).train.texts;
  for (const std::string& path : args.text) {
    for (std::string& line : read_lines(path)) texts.push_back(std::move(line));
  }
  if (!args.resume.empty()) check_resume(args);
  MaskedLanguageModel model = [&] {
    if (!args.resume.empty()) return load_masked_lm(args.resume);
    const Preset<EncoderConfig> preset = chosen_preset(encoder_presets(), args);
    const auto tokenizer = SentencePieceTokenizer::train(texts, {.vocab = args.vocab});
    return make_masked_lm(config_for(preset.model, tokenizer, args), tokenizer, preset.training);
  }();
  if (!args.resume.empty()) model.settings = resumed_settings(model.settings, args);
  // Every so many-th text validates: texts of all files do.
  std::vector<std::string> train, held_out;
  const double fraction = model.settings.validation_fraction;
  double due = 0;
  for (const std::string& text : texts) {
    due += fraction;
    (due >= 1 ? held_out : train).push_back(text);
    if (due >= 1) due -= 1;
  }
  const PackedTexts rows(model.tokenizer, train, model.config.context);
  std::unique_ptr<PackedTexts> validation;
  if (!held_out.empty())
    validation = std::make_unique<PackedTexts>(model.tokenizer, held_out, model.config.context);

  print_encoder(model.config, *model.graph);
  fmt::print("text      {} lines, {} tokens to train on, {} to validate\n", grouped(rows.texts()),
             grouped(rows.tokens()), grouped(validation ? validation->tokens() : 0));
  print_training(model.settings, fmt::format("x {} tokens", model.config.context));
  Session session(*model.graph, model.store, args.session_options(model.settings));
  const TrainTask task = masked_lm_task(session, model, rows, validation.get(), args.whole_words);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session, run_of(model, task, &save_masked_lm, command_line(args)), args);
  if (!outcome.stopped && task.evaluate) {
    fmt::print("held out  loss {:.4f}, {:.2f}% of the hidden tokens found\n",
               outcome.evaluation.loss, 100 * outcome.evaluation.metrics.front().value);
  }
  return 0;
}

/// A new classifier: with the encoder of --from, or on its own.
TextClassifier new_classifier(const EncoderArguments& args, const LabelledText& train) {
  const Preset<EncoderConfig> preset = chosen_preset(text_classifier_presets(), args);
  const FineTuneOptions options{args.freeze, args.layer_lr_decay};
  if (args.from.empty()) {
    const auto tokenizer = SentencePieceTokenizer::train(train.texts, {.vocab = args.vocab});
    return make_text_classifier(config_for(preset.model, tokenizer, args), tokenizer, train.names,
                                preset.training, options);
  }
  const PretrainedEncoder base = load_pretrained_encoder(args.from);
  TextClassifier model =
      make_text_classifier(config_for(base.config, base.tokenizer, args), base.tokenizer,
                           train.names, preset.training, options);
  const StartReport report =
      start_from(*model.store, *model.graph, base.parameters, args.from, args.anew);
  fmt::print("from      {}: {}\n", args.from, report.str());
  if (!args.freeze.empty()) {
    std::int64_t frozen = 0;
    for (const Variable& variable : model.graph->variables()) {
      const VariableInfo& info = variable.info();
      frozen += info.kind == VariableKind::parameter && !info.trainable ? 1 : 0;
    }
    fmt::print("frozen    {} parameters\n", frozen);
  }
  return model;
}

int fine_tune(const EncoderArguments& args) {
  if (args.data.empty()) throw UsageError("--data is required: files of labels and texts");
  if (!args.text.empty() || args.whole_words)
    throw UsageError("--text and --whole-words are for --task mlm");
  if (!args.resume.empty()) {
    check_resume(args);
    if (!args.from.empty() || !args.freeze.empty() || !args.anew.empty() ||
        args.layer_lr_decay != 1)
      throw UsageError(
          "--from, --new, --freeze and --layer-lr-decay cannot be given with --resume");
  }
  const Parts parts = labelled_parts(args);
  TextClassifier model = args.resume.empty()
                             ? as_usage([&] { return new_classifier(args, parts.train); })
                             : load_text_classifier(args.resume);
  if (!args.resume.empty()) model.settings = resumed_settings(model.settings, args);
  if (model.classes != parts.train.names) {
    throw UsageError(fmt::format("{} knows the classes {}, the data have {}", args.resume,
                                 fmt::join(model.classes, ", "),
                                 fmt::join(parts.train.names, ", ")));
  }
  print_encoder(model.config, *model.graph);
  fmt::print("data      {} texts to train on, {} held out ({} part); classes {}\n",
             grouped(parts.train.size()), grouped(parts.held_out.size()), args.held_out,
             fmt::join(model.classes, ", "));
  print_training(model.settings, "texts");
  Session session(*model.graph, model.store, args.session_options(model.settings));
  const TrainTask task = text_classifier_task(session, model, parts.train, &parts.held_out);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session, run_of(model, task, &save_text_classifier, command_line(args)), args);
  if (outcome.stopped) return 0;
  const ConfusionMatrix matrix = confusion(session, model, parts.held_out);
  fmt::print("held out  accuracy {:.2f}% of {} texts\n{}", 100 * matrix.accuracy(), matrix.total(),
             matrix.table());
  const std::filesystem::path out = args.destination();
  const auto beside = [&](const std::string& name) {
    return (out.parent_path() / (out.stem().string() + "." + name + ".svg")).string();
  };
  write_text(beside("confusion"), svg_heat_maps({matrix.heat_map("held-out texts")}));
  write_text(beside("attention"), attention_svg(model, parts.held_out.texts.front()));
  fmt::print("plots     {}, {}\n", beside("confusion"), beside("attention"));
  return 0;
}

}  // namespace

void add_train_encoder(CLI::App& app, Action& action) {
  CLI::App* encoder =
      app.add_subcommand("encoder", "Train a BERT: on hidden words, then as a classifier of texts");
  const auto args = std::make_shared<EncoderArguments>();
  encoder
      ->add_option("--task", args->task,
                   "mlm = find hidden tokens (pre-training); classify = classes of texts")
      ->check(CLI::IsMember({"mlm", "classify"}));
  encoder->add_option("--text", args->text, "mlm: UTF-8 files, a text per line");
  encoder->add_option(
      "--data", args->data,
      "files of lines 'label <tab> text' or 'text <tab> label'; mlm reads the texts "
      "of the training part");
  encoder->add_option("--label", args->label, "side of the label: auto, first, last");
  encoder
      ->add_option(
          "--held-out", args->held_out,
          "test = train on the rest, measure on the test part; validation = leave the test "
          "part alone, and measure on a part of the rest: to choose settings")
      ->check(CLI::IsMember({"test", "validation"}));
  encoder->add_option("--test-fraction", args->test_fraction, "of each class (default 0.2)")
      ->check(CLI::Range(0.01, 0.9));
  encoder->add_option("--split-seed", args->split_seed, "which texts these are (default 1)");
  encoder->add_option("--from", args->from, "classify: start from the weights in this .weft file");
  encoder->add_option("--new", args->anew,
                      "patterns of parameters that start anew though --from has them");
  encoder->add_option("--freeze", args->freeze,
                      "patterns of parameters that stay as they are: \"embeddings.*\"");
  encoder->add_option("--layer-lr-decay", args->layer_lr_decay,
                      "every layer learns at this share of the rate of the one above (default 1)");
  encoder->add_option("--vocab", args->vocab, "pieces of a new tokenizer (default 4000)");
  encoder->add_flag("--whole-words", args->whole_words, "mlm: hide all pieces of a word together");
  add_train_options(*encoder,
                    preset_help(encoder_presets()) + "; each task has settings of its own",
                    EncoderConfig{}.to_json(), {"family", "vocab", "padding_id"}, *args);
  encoder->callback([args, &action] {
    action = [args] { return args->task == "mlm" ? pretrain(*args) : fine_tune(*args); };
  });
}

}  // namespace weft::program
