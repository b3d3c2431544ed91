#include "weft/models/program/train/train_encoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "weft/models/program/console.h"
#include "weft/models/train/encoder_presets.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/pretraining_objective.h"

namespace weft::program {
namespace {

constexpr const char* kClassify = "classify";

/// What the file of --resume is a training of.
std::string task_of(const std::string& path) {
  const Checkpoint file = load_checkpoint(path);
  return file.has_program("classify") ? kClassify : "";
}

int run(EncoderArguments args) {
  // A file knows its task; pre-training compares what was asked for with it.
  if (!args.has("--task")) {
    args.task = std::string(kPretrainingObjectives.front());
    if (!args.resume.empty() && task_of(args.resume) == kClassify) args.task = kClassify;
  }
  const bool classify = args.task == kClassify;
  args.plan_files(classify ? std::vector<std::string>{kConfusion, kAttention}
                           : std::vector<std::string>{});
  return classify ? train_text_classifier(args) : pretrain(std::move(args));
}

void add_data_options(CLI::App& encoder, EncoderArguments& args) {
  OptionList options(encoder);
  options.inputs("--text", args.text,
                 "pre-training: UTF-8 files, a text per line; for pairs a sentence per line "
                 "and a blank line between documents");
  options.inputs(
      "--data", args.data,
      "files of lines 'label <tab> text' or 'text <tab> label'; mlm and rtd read the texts of the "
      "training part");
  options.choice("--label", {"auto", "first", "last"}, args.label, "side of the label");
  options.choice("--held-out", {"test", "validation"}, args.held_out,
                 "test = train on the rest, measure on the test part; validation = leave the test "
                 "part alone, and measure on a part of the rest: to choose settings");
  options.real("--test-fraction", args.test_fraction, {0.01, 0.9}, "of each class (default 0.2)");
  options.seed("--split-seed", args.split_seed, "which texts these are (default 1)");
  options.integer("--vocab", args.vocab, kVocabRange, "pieces of a new tokenizer (default 4000)");
}

}  // namespace

LabelledParts labelled_parts(const EncoderArguments& args) {
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
    if (variable.info().kind == VariableKind::parameter)
      parameters += variable.shape().numel().constant();
  }
  say("model     encoder: {} layers, {} heads, width {}, context {}, {} pieces: {} parameters\n",
      c.layers, c.heads, c.width, c.context, c.vocab, grouped(parameters));
}

EncoderConfig config_for(const EncoderConfig& base, const SentencePieceTokenizer& tokenizer,
                         const EncoderArguments& args) {
  EncoderConfig config = model_config(base, args);
  config.vocab = tokenizer.vocab_size();
  config.padding_id = tokenizer.pad_id();
  return config;
}

SentencePieceTokenizer new_tokenizer(const std::vector<std::string>& texts,
                                     const EncoderArguments& args) {
  return as_usage([&] { return SentencePieceTokenizer::train(texts, {.vocab = args.vocab}); });
}

std::string command_line(const EncoderArguments& args) {
  std::string line = "weft train encoder --task " + args.task;
  if (!args.text.empty()) line += fmt::format(" --text {}", fmt::join(args.text, " "));
  if (!args.data.empty()) line += fmt::format(" --data {}", fmt::join(args.data, " "));
  // What is held out is not in the file: it must not change.
  if (args.has("--label")) line += " --label " + args.label;
  if (args.has("--held-out")) line += " --held-out " + args.held_out;
  if (args.has("--test-fraction")) line += fmt::format(" --test-fraction {}", args.test_fraction);
  if (args.has("--split-seed")) line += fmt::format(" --split-seed {}", args.split_seed);
  return line;
}

void add_train_encoder(CLI::App& app, Action& action) {
  CLI::App* encoder = app.add_subcommand(
      "encoder", "Train a BERT: on texts without labels, then as a classifier of texts");
  const auto args = std::make_shared<EncoderArguments>();
  std::vector<std::string> tasks(kPretrainingObjectives.begin(), kPretrainingObjectives.end());
  tasks.emplace_back(kClassify);
  OptionList options(*encoder);
  options.choice("--task", tasks, args->task,
                 "pre-training: mlm = find hidden tokens (default); mlm+nsp = and say whether "
                 "two segments follow each other (BERT); mlm+sop = and in which order they "
                 "stand (ALBERT); rtd = find tokens that a generator replaced (ELECTRA). "
                 "classify = classes of texts");
  add_data_options(*encoder, *args);
  add_field_options(*encoder, "Pre-training", PretrainingOptions{}.to_json(), {"objective"},
                    args->pretraining);
  add_start_options(*encoder, *args,
                    "classify: start from the weights in this .weft file, or in a folder as "
                    "Hugging Face's library writes it",
                    "embeddings.*");
  add_train_options(*encoder,
                    preset_help(encoder_presets()) + "; each task has settings of its own",
                    EncoderConfig{}.to_json(), {"family", "vocab", "padding_id"}, *args);
  encoder->callback([args, encoder, &action] {
    args->remember(*encoder);
    action = [args] { return run(*args); };
  });
}

}  // namespace weft::program
