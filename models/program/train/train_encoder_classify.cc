// weft train encoder --task classify
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/models/program/console.h"
#include "weft/models/program/train/train_encoder.h"
#include "weft/models/train/encoder_presets.h"
#include "weft/models/train/fine_tune.h"
#include "weft/models/train/pretrained_encoder.h"
#include "weft/models/train/text_classifier.h"

namespace weft::program {
namespace {

void check_options(const EncoderArguments& args) {
  if (args.data.empty()) throw UsageError("--data is required: files of labels and texts");
  args.refuse({"--text", "--whole-words", "--generator-share", "--replaced-weight"},
              "is for pre-training, not for --task classify");
  args.refuse({"--validation-fraction"},
              "is for pre-training: --test-fraction and --held-out say what a classifier is "
              "measured on");
  if (args.from.empty()) {
    args.refuse({"--new"}, "needs --from");
  } else {
    args.refuse({"--vocab"}, "cannot be given with --from: its tokenizer is used");
  }
  if (!args.resume.empty()) {
    args.refuse({"--from", "--new", "--freeze", "--layer-lr-decay", "--vocab"},
                "cannot be given with --resume: it is as the file says");
  }
}

/// A new classifier: with the encoder of --from, or on its own.
TextClassifier new_classifier(const EncoderArguments& args, const LabelledText& train) {
  const Preset<EncoderConfig> preset = chosen_preset(text_classifier_presets(), args);
  const FineTuneOptions options{args.freeze, args.layer_lr_decay};
  if (args.from.empty()) {
    model_config(preset.model, args);  // before the tokenizer is made, which takes its time
    const auto tokenizer = new_tokenizer(train.texts, args);
    return as_usage([&] {
      return make_text_classifier(config_for(preset.model, tokenizer, args), tokenizer, train.names,
                                  preset.training, options);
    });
  }
  const PretrainedEncoder base = load_pretrained_encoder(args.from);
  TextClassifier model = as_usage([&] {
    return make_text_classifier(config_for(base.config, base.tokenizer, args), base.tokenizer,
                                train.names, preset.training, options);
  });
  // A head for other classes says nothing of these.
  std::vector<std::string> anew = args.anew;
  if (base.classes != train.names) anew.emplace_back("classifier.*");
  const StartReport report = as_fitting(
      [&] { return start_from(*model.store, *model.graph, base.parameters, args.from, anew); });
  say("from      {}: {}\nsettings  those of training, of preset {}\n", args.from, report.str(),
      preset.name);
  if (!args.freeze.empty()) {
    std::int64_t frozen = 0;
    for (const Variable& variable : model.graph->variables()) {
      const VariableInfo& info = variable.info();
      frozen += info.kind == VariableKind::parameter && !info.trainable ? 1 : 0;
    }
    say("frozen    {} parameters\n", frozen);
  }
  return model;
}

TextClassifier resumed_classifier(const EncoderArguments& args) {
  check_resume(args);
  TextClassifier model = load_text_classifier(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  model.settings = resumed_settings(model.settings, args);
  return model;
}

}  // namespace

int train_text_classifier(const EncoderArguments& args) {
  check_options(args);
  const LabelledParts parts = labelled_parts(args);
  TextClassifier model =
      args.resume.empty() ? new_classifier(args, parts.train) : resumed_classifier(args);
  if (model.classes != parts.train.names) {
    throw DataError(fmt::format("{} knows the classes {}, the data have {}", args.resume,
                                fmt::join(model.classes, ", "),
                                fmt::join(parts.train.names, ", ")));
  }
  print_encoder(model.config, *model.graph);
  say("data      {} texts to train on, {} held out ({} part); classes {}\n",
      grouped(parts.train.size()), grouped(parts.held_out.size()), args.held_out,
      fmt::join(model.classes, ", "));
  print_training(model.settings, "texts", model.config.longest_row());
  Session session(*model.graph, model.store, args.session_options(model.settings));
  const TrainTask task = text_classifier_task(session, model, parts.train, &parts.held_out);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session, run_of(model, task, &save_text_classifier, command_line(args)), args);
  if (outcome.stopped) return 0;
  const ConfusionMatrix matrix = confusion(session, model, parts.held_out);
  say("held out  accuracy {:.2f}% of {} texts\n{}", 100 * matrix.accuracy(), matrix.total(),
      matrix.table());
  const OutputFile confusions = args.file(kConfusion), attention = args.file(kAttention);
  write_text(confusions, svg_heat_maps({matrix.heat_map("held-out texts")}));
  write_text(attention, attention_svg(model, parts.held_out.texts.front()));
  say("plots     {}, {}\n", confusions.path(), attention.path());
  return 0;
}

}  // namespace weft::program
