// weft train encoder --task mlm|mlm+nsp|mlm+sop|rtd
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "weft/models/data/documents.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_encoder.h"
#include "weft/models/train/encoder_presets.h"
#include "weft/models/train/pretraining_task.h"
#include "weft/models/train/replaced_tokens.h"

namespace weft::program {
namespace {

void check_options(const EncoderArguments& args, PretrainingObjective objective) {
  if (args.text.empty() && args.data.empty())
    throw UsageError("--text or --data is required: files to learn from");
  args.refuse({"--from", "--new", "--freeze", "--layer-lr-decay"}, "is for --task classify");
  if (args.data.empty())
    args.refuse({"--label", "--held-out", "--test-fraction", "--split-seed"}, "needs --data");
  if (reads_pairs(objective) && !args.data.empty()) {
    throw UsageError(fmt::format(
        "--task {} needs documents: --text, a sentence per line, with a blank line between "
        "documents, not --data",
        field_name(objective)));
  }
  if (objective != PretrainingObjective::rtd)
    args.refuse({"--generator-share", "--replaced-weight"}, "is for --task rtd");
}

/// Documents of sentences, where texts that stand alone have one. Of labelled data only the texts
/// that are trained on later: the test part stays unseen.
std::vector<TextDocument> read_texts(const EncoderArguments& args, PretrainingObjective objective) {
  std::vector<TextDocument> documents;
  if (!args.data.empty()) {
    for (std::string& text : labelled_parts(args).train.texts)
      documents.push_back({std::move(text)});
  }
  if (reads_pairs(objective)) return read_documents(args.text);
  for (TextDocument& text : read_single_texts(args.text)) documents.push_back(std::move(text));
  return documents;
}

PretrainingModel new_model(const EncoderArguments& args,
                           const std::vector<TextDocument>& documents) {
  const Preset<EncoderConfig> preset = chosen_preset(encoder_presets(), args);
  FieldValues fields = args.pretraining;
  fields["objective"] = args.task;
  const PretrainingOptions options =
      as_usage([&] { return with_fields(PretrainingOptions{}, fields); });
  model_config(preset.model, args);  // before the tokenizer is made, which takes its time
  const auto tokenizer = new_tokenizer(sentences(documents), args);
  EncoderConfig config = config_for(preset.model, tokenizer, args);
  // Presets for single texts have no token types, which pairs need.
  if (reads_pairs(options.objective) && !args.model.contains("token_types"))
    config.token_types = std::max<std::int64_t>(config.token_types, 2);
  return as_usage(
      [&] { return make_pretraining_model(config, tokenizer, preset.training, options); });
}

PretrainingModel resumed_model(const EncoderArguments& args) {
  check_resume(args);
  args.refuse({"--whole-words", "--generator-share", "--replaced-weight", "--vocab"},
              "cannot be given with --resume: it is as the file says");
  PretrainingModel model = load_pretraining_model(args.resume);
  if (!model.can_train())
    throw UsageError(fmt::format("{} cannot be trained: it has no training step", args.resume));
  const std::string_view task = field_name(model.options.objective);
  if (args.has("--task") && args.task != task) {
    throw UsageError(fmt::format("--task {} cannot be given with --resume: {} learns {}", args.task,
                                 args.resume, task));
  }
  model.settings = resumed_settings(model.settings, args);
  return model;
}

/// What a run learns from and is measured on: texts or pairs.
template <class Data>
struct Sets {
  Data train;
  std::optional<Data> held_out;
};

Sets<PackedTexts> packed(const PretrainingModel& model, std::vector<TextDocument> documents) {
  const auto [train, held_out] =
      split_documents(std::move(documents), model.settings.validation_fraction);
  const std::int64_t length = model.config.longest_row();
  Sets<PackedTexts> sets{{model.tokenizer, sentences(train), length}, {}};
  if (!held_out.empty()) sets.held_out.emplace(model.tokenizer, sentences(held_out), length);
  say("text      {} lines, {} tokens to train on, {} to validate\n", grouped(sets.train.texts()),
      grouped(sets.train.tokens()), grouped(sets.held_out ? sets.held_out->tokens() : 0));
  return sets;
}

/// DataError where not even the whole text gives pairs: then no option is wrong, but the text is.
void refuse_unpaired(const PretrainingModel& model, std::vector<TextDocument> train,
                     const std::vector<TextDocument>& held_out) {
  train.insert(train.end(), held_out.begin(), held_out.end());
  try {
    static_cast<void>(sentence_pairs(model, train));
  } catch (const ArgumentError& e) {
    throw DataError(fmt::format("the text: {} (a blank line ends a document)", e.what()));
  }
}

Sets<SentencePairs> paired(const PretrainingModel& model, std::vector<TextDocument> documents) {
  const auto [train, held_out] =
      split_documents(std::move(documents), model.settings.validation_fraction);
  // Named captures: clang 14 captures no structured bindings.
  const auto made = [&, &train = train, &held_out = held_out](const std::vector<TextDocument>& part,
                                                              const char* what) {
    try {
      return sentence_pairs(model, part);
    } catch (const ArgumentError& e) {
      refuse_unpaired(model, train, held_out);
      throw UsageError(
          fmt::format("the {} part of the text: {} (a blank line ends a document; "
                      "--validation-fraction says how many of them validate)",
                      what, e.what()));
    }
  };
  Sets<SentencePairs> sets{made(train, "training"), {}};
  if (!held_out.empty()) sets.held_out = made(held_out, "validation");
  say("text      {} documents, {} tokens to train on, {} to validate\n",
      grouped(sets.train.documents()), grouped(sets.train.tokens()),
      grouped(sets.held_out ? sets.held_out->tokens() : 0));
  return sets;
}

void print_objective(const PretrainingModel& model) {
  const PretrainingOptions& o = model.options;
  say("objective {}{}", field_name(o.objective), o.whole_words ? ", whole words" : "");
  if (o.objective == PretrainingObjective::rtd) {
    say(": a generator of width {}; finding what it replaced weighs {:g}",
        generator_config(model.config, o.generator_share).width, o.replaced_weight);
  }
  say("\n");
}

template <class Data>
int train_on(PretrainingModel& model, const Sets<Data>& sets, const EncoderArguments& args) {
  print_objective(model);
  print_training(model.settings, fmt::format("x {} tokens", model.config.longest_row()),
                 model.config.longest_row());
  Session session(*model.graph, model.store, args.session_options(model.settings));
  const TrainTask task =
      pretraining_task(session, model, sets.train, sets.held_out ? &*sets.held_out : nullptr);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);
  const TrainOutcome outcome =
      run_training(session, run_of(model, task, &save_pretraining_model, command_line(args)), args);
  if (outcome.stopped || !task.evaluate) return 0;
  const auto metric = [&](std::string_view name) {
    for (const Metric& m : outcome.evaluation.metrics) {
      if (m.name == name) return m.value;
    }
    return std::numeric_limits<double>::quiet_NaN();
  };
  say("held out  loss {:.4f}, {:.2f}% of the hidden tokens found", outcome.evaluation.loss,
      100 * metric("masked_accuracy"));
  if (reads_pairs(model.options.objective))
    say(", {:.2f}% of the pairs right", 100 * metric("pair_accuracy"));
  if (model.options.objective == PretrainingObjective::rtd) {
    say(" by the generator, replaced tokens told apart with accuracy {:.2f}%, AUC {:.4f}",
        100 * metric("replaced_accuracy"), metric("replaced_auc"));
  }
  say("\n");
  return 0;
}

}  // namespace

int pretrain(EncoderArguments args) {
  std::optional<PretrainingModel> model;
  if (!args.resume.empty()) {
    model = resumed_model(args);
    args.task = field_name(model->options.objective);
  }
  PretrainingObjective objective{};
  parse_field(args.task, objective);
  check_options(args, objective);
  std::vector<TextDocument> documents = read_texts(args, objective);
  if (!model) model = new_model(args, documents);
  print_encoder(model->config, *model->graph);
  if (reads_pairs(objective)) return train_on(*model, paired(*model, std::move(documents)), args);
  return train_on(*model, packed(*model, std::move(documents)), args);
}

}  // namespace weft::program
