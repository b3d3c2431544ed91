// weft train seq2seq --task span-corruption|ul2|denoising|gap-sentences
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/common/token_data.h"
#include "weft/models/tasks/seq2seq/denoising_task.h"
#include "weft/models/tasks/seq2seq/describe.h"
#include "weft/models/tasks/seq2seq/presets.h"
#include "weft/models/tasks/seq2seq/seq2seq_writer.h"
#include "weft/models/tasks/seq2seq/task.h"

namespace weft {
namespace {

constexpr const char* kSeq2SeqText = "--text";
constexpr const char* kSeq2SeqGroup = "Pre-training";
constexpr std::int64_t kSamples = 3;

constexpr std::array<std::string_view, 4> kSeq2SeqDescriptions = {
    "pre-training: reconstruct masked spans (T5)",
    "pre-training: reconstruct spans at low or high corruption rates, or continue a text (UL2)",
    "pre-training: reconstruct a text from a noisy version (BART)",
    "pre-training: generate the sentences that best summarise the rest (PEGASUS)"};

/// The training data: either texts or token files.
struct DenoisingInput {
  std::vector<TextDocument> documents = {};
  std::vector<TokenSource> tokens = {};
};

std::unique_ptr<PassageSource> passages_of(const Seq2SeqModel& model,
                                           const std::vector<TextDocument>& documents,
                                           const char* part) {
  try {
    return std::make_unique<Passages>(make_passages(model, documents));
  } catch (const ArgumentError& e) {
    throw ArgumentError(
        fmt::format("the {} part of the text: {} (a blank line ends a document; "
                    "--validation-fraction sets the fraction of documents held out for validation)",
                    part, e.what()));
  }
}

class DenoisingRun final : public RunOf<Seq2SeqModel> {
 public:
  DenoisingRun(std::unique_ptr<Seq2SeqModel> model, DenoisingInput input)
      : RunOf(std::move(model)) {
    const double fraction = model_->settings.validation_fraction;
    if (!input.tokens.empty()) {
      TokenSetSplit split = split_sources(input.tokens, model_->tokenizer, fraction);
      train_ = passages_of(std::move(split.train));
      if (!split.validation.empty()) held_out_ = passages_of(std::move(split.validation));
      return;
    }
    const DocumentSplit split = split_documents(std::move(input.documents), fraction);
    train_ = weft::passages_of(*model_, split.train, "training");
    if (!split.validation.empty())
      held_out_ = weft::passages_of(*model_, split.validation, "validation");
  }

  std::string describe() override {
    return describe_seq2seq(*model_) +
           fmt::format("objective {}, passages of up to {} tokens\n",
                       choice_name(model_->denoising->objective), model_->denoising->passage) +
           fmt::format("text      {} documents, {} tokens for training, {} for validation\n",
                       grouped(train_->documents()), grouped(train_->tokens()),
                       grouped(held_out_ ? held_out_->tokens() : 0));
  }
  std::string batch_unit() const override { return "tokens"; }

  TrainTask task(Session& session) override {
    return weft::denoising_task(session, *model_, *train_, held_out_.get());
  }

  TaskReport report(Session& session, const TrainOutcome& outcome, const std::string&) override {
    if (!held_out_) return {};
    std::string text = fmt::format("held out  loss {:.4f}, perplexity {:.3f}\n",
                                   outcome.evaluation.loss, std::exp(outcome.evaluation.loss));
    for (const Denoised& sample : denoise(session, *model_, *held_out_, kSamples)) {
      text += fmt::format("\ninput     {}\ntarget    {}\noutput    {}\n", sample.input,
                          sample.target, sample.output);
    }
    return {text};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    if (!held_out_) throw DataError("no text was held out in training");
    return weft::denoising_task(session, model_as<Seq2SeqModel>(model), *held_out_, held_out_.get())
        .evaluate(true);
  }

 private:
  std::unique_ptr<PassageSource> passages_of(std::vector<TokenSetPart> parts) const {
    return std::make_unique<TokenPassages>(make_passages(*model_, std::move(parts)));
  }

  std::unique_ptr<PassageSource> train_, held_out_;  // held_out_ is null if no text is held out
};

class DenoisingTask final : public TaskOf<Seq2SeqModel> {
 public:
  explicit DenoisingTask(DenoisingObjective objective) : objective_(objective) {
    info_.id = info_.name = choice_name(objective);
    info_.family = "seq2seq";
    info_.about = kSeq2SeqDescriptions[static_cast<std::size_t>(objective)];
    info_.help = {{"batch", "number of passage tokens per training step"},
                  {"validation_fraction", "fraction of the documents held out for validation"}};
    info_.perplexity = true;
  }

  const TaskInfo& info() const override { return info_; }
  TaskOptions options() const override {
    TaskOptions options;
    const std::string texts =
        "UTF-8 files with one sentence per line and a blank line between documents";
    options
        .files(kSeq2SeqText, objective_ == DenoisingObjective::gap_sentences
                                 ? texts
                                 : fmt::format("{}; or {}", texts, kTokenFilesHelp))
        .data();
    add_tokenizer(options, "bpe", true);
    std::set<std::string> skip;
    std::vector<std::string> used = fields_of(objective_);
    used.emplace_back("passage");
    for (const Field& field : DenoisingOptions::fields().fields()) {
      if (std::find(used.begin(), used.end(), field.name) == used.end()) skip.insert(field.name);
    }
    return options.field_group(kSeq2SeqGroup, DenoisingOptions::fields(), skip);
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderDecoderConfig::fields(), kOwnFields};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(denoising_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    DenoisingInput input = read(args.options);
    DenoisingOptions options = DenoisingOptions::fields().with({.objective = objective_},
                                                               args.options.fields(kSeq2SeqGroup));
    TaskArguments chosen = args;
    if (chosen.preset.empty()) chosen.preset = default_preset(objective_);
    const Preset<EncoderDecoderConfig> preset = chosen_preset(denoising_presets(), chosen);
    const EncoderDecoderConfig config = chosen_config(base_config(preset.model, args), args);
    options.check();  // fail early: training a tokenizer is slow
    const auto [tokenizer, notes] =
        !input.tokens.empty() ? LearnedTokenizer{tokenizer_of(input.tokens, args)}
        : args.from           ? LearnedTokenizer{args.from->tokenizer()}
                              : requested_tokenizer(args, options, input.documents);
    auto model = std::make_unique<Seq2SeqModel>(build_denoising_model(
        config, tokenizer, preset.training, options, table_rows(config.vocab, tokenizer, args)));
    auto loaded = start_weights(*model, args);
    return new_run<DenoisingRun>(preset.name, std::move(loaded), notes, std::move(model),
                                 std::move(input));
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<Seq2SeqModel> model,
                                      const OptionValues& options) const override {
    return std::make_unique<DenoisingRun>(std::move(model), read(options));
  }

 private:
  static LearnedTokenizer requested_tokenizer(const TaskArguments& args,
                                              const DenoisingOptions& options,
                                              const std::vector<TextDocument>& documents) {
    const std::vector<std::string> symbols = denoising_symbols(options);
    std::vector<std::string> special = {"<pad>", "</s>", "<unk>"};
    special.insert(special.end(), symbols.begin(), symbols.end());
    return make_tokenizer(tokenizer_choice(args.options, "bpe"),
                          {.texts = [&] { return sentences(documents); },
                           .special = special,
                           .pieces = {.symbols = symbols}});
  }
  static DenoisingInput read(const OptionValues& options) {
    if (!options.has(kSeq2SeqText)) throw ArgumentError("--text is required: files to train on");
    const std::vector<std::string>& paths = options.texts(kSeq2SeqText);
    std::vector<TokenSource> tokens = token_sources(paths);
    if (!tokens.empty()) return {{}, std::move(tokens)};
    return {read_documents(paths)};
  }

  DenoisingObjective objective_;
  TaskInfo info_;
};

}  // namespace

const Task& denoising_task(DenoisingObjective objective) {
  static const DenoisingTask tasks[] = {DenoisingTask(DenoisingObjective::span_corruption),
                                        DenoisingTask(DenoisingObjective::ul2),
                                        DenoisingTask(DenoisingObjective::denoising),
                                        DenoisingTask(DenoisingObjective::gap_sentences)};
  return tasks[static_cast<std::size_t>(objective)];
}

}  // namespace weft
