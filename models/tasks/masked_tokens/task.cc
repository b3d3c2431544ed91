#include "weft/models/tasks/masked_tokens/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/data/formats/documents.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/common/token_data.h"
#include "weft/models/tasks/masked_tokens/fill.h"
#include "weft/models/tasks/masked_tokens/presets.h"
#include "weft/models/tasks/masked_tokens/pretraining_task.h"
#include "weft/models/tasks/masked_tokens/replaced_tokens.h"

namespace weft {
namespace {

constexpr const char* kPretrainingGroup = "Pre-training";
constexpr const char* kHint =
    "(a blank line ends a document; --validation-fraction sets the fraction of documents held out "
    "for validation)";

constexpr std::array<std::string_view, 4> kObjectiveDescriptions = {
    "pre-training: predict masked tokens",
    "pre-training: predict masked tokens and whether the second segment follows the first (BERT)",
    "pre-training: predict masked tokens and the order of two segments (ALBERT)",
    "pre-training: detect tokens that a generator replaced (ELECTRA)"};

/// The training data: either texts or token files.
struct PretrainingInput {
  std::vector<TextDocument> documents = {};
  std::vector<TokenSource> tokens = {};
};

/// Reads documents that consist of sentences. For objectives on single texts, every text is a
/// document with one sentence. For labelled data, only texts in the training set are used, so that
/// pre-training does not use the test set of a later fine-tuning run.
std::vector<TextDocument> read_texts(const OptionValues& values, PretrainingObjective objective) {
  const std::vector<std::string>& paths = values.texts(kTextOption);
  if (reads_pairs(objective)) return read_documents(paths);
  std::vector<TextDocument> documents;
  if (values.has(kDataOption)) {
    for (std::string& text : labelled_parts(values).train.texts)
      documents.push_back({std::move(text)});
  }
  for (TextDocument& text : read_single_texts(paths)) documents.push_back(std::move(text));
  return documents;
}

PretrainingInput read_input(const OptionValues& values, PretrainingObjective objective) {
  const std::vector<std::string>& paths = values.texts(kTextOption);
  if (paths.empty() && !values.has(kDataOption))
    throw ArgumentError("--text or --data is required: files to train on");
  if (!values.has(kDataOption)) {
    for (const char* option : {"--label", "--held-out", "--test-fraction", "--split-seed"}) {
      if (values.has(option)) throw ArgumentError(fmt::format("{} requires --data", option));
    }
  }
  std::vector<TokenSource> tokens = token_sources(paths);
  if (tokens.empty()) return {read_texts(values, objective)};
  const std::string& path = paths.front();
  if (reads_pairs(objective)) {
    throw ArgumentError(fmt::format(
        "{} is a token file: it does not record sentence boundaries, which are required for pairs",
        path));
  }
  if (values.has(kDataOption)) {
    throw ArgumentError(
        fmt::format("{} is a token file: it cannot be combined with --data texts", path));
  }
  return {{}, std::move(tokens)};
}

/// Texts, pairs or packed tokens, split into training and validation sets.
class PretrainingData {
 public:
  PretrainingData(const PretrainingModel& model, PretrainingInput input)
      : split_(split_documents(std::move(input.documents), model.settings.validation_fraction)) {
    if (!input.tokens.empty()) {
      pack(model, input.tokens);
      return;
    }
    if (reads_pairs(model.options.objective)) {
      pairs_.emplace(make_pairs(model, split_.train, "training"));
      if (!split_.validation.empty())
        held_out_pairs_.emplace(make_pairs(model, split_.validation, "validation"));
      return;
    }
    const std::int64_t length = model.config.max_tokens();
    texts_.emplace(model.tokenizer, sentences(split_.train), length);
    if (!split_.validation.empty())
      held_out_texts_.emplace(model.tokenizer, sentences(split_.validation), length);
  }

  bool has_held_out() const { return held_out_texts_ || held_out_pairs_ || held_out_tokens_; }
  std::string describe() const {
    const bool pairs = pairs_.has_value();
    const auto tokens = [](const auto& part) { return part ? part->tokens() : 0; };
    if (tokens_) {
      return fmt::format("text      {} documents, {} tokens for training, {} for validation\n",
                         grouped(tokens_->documents()), grouped(tokens_->tokens()),
                         grouped(tokens(held_out_tokens_)));
    }
    return fmt::format("text      {} {}, {} tokens for training, {} for validation\n",
                       grouped(pairs ? pairs_->documents() : texts_->texts()),
                       pairs ? "documents" : "lines",
                       grouped(pairs ? pairs_->tokens() : texts_->tokens()),
                       grouped(pairs ? tokens(held_out_pairs_) : tokens(held_out_texts_)));
  }
  TrainTask task(Session& session, const PretrainingModel& model) const {
    if (tokens_) {
      return pretraining_task(session, model, *tokens_,
                              held_out_tokens_ ? &*held_out_tokens_ : nullptr);
    }
    if (pairs_) {
      return pretraining_task(session, model, *pairs_,
                              held_out_pairs_ ? &*held_out_pairs_ : nullptr);
    }
    return pretraining_task(session, model, *texts_, held_out_texts_ ? &*held_out_texts_ : nullptr);
  }

 private:
  void pack(const PretrainingModel& model, const std::vector<TokenSource>& sources) {
    TokenSetSplit split =
        split_sources(sources, model.tokenizer, model.settings.validation_fraction);
    const std::int64_t length = model.config.max_tokens();
    tokens_.emplace(std::move(split.train), length);
    if (!split.validation.empty()) held_out_tokens_.emplace(std::move(split.validation), length);
  }
  SentencePairs make_pairs(const PretrainingModel& model, const std::vector<TextDocument>& part,
                           const char* what) const {
    try {
      return sentence_pairs(model, part);
    } catch (const ArgumentError& e) {
      reject_unpaired(model);
      throw ArgumentError(fmt::format("the {} set: {} {}", what, e.what(), kHint));
    }
  }
  /// Throws DataError if even the whole text contains no pairs. The cause is then the text, not the
  /// options.
  void reject_unpaired(const PretrainingModel& model) const {
    std::vector<TextDocument> all = split_.train;
    all.insert(all.end(), split_.validation.begin(), split_.validation.end());
    try {
      static_cast<void>(sentence_pairs(model, all));
    } catch (const ArgumentError& e) {
      throw DataError(fmt::format("the text: {} (a blank line ends a document)", e.what()));
    }
  }

  DocumentSplit split_;
  std::optional<PackedTexts> texts_, held_out_texts_;
  std::optional<SentencePairs> pairs_, held_out_pairs_;
  std::optional<PackedTokens> tokens_, held_out_tokens_;
};

class MaskedTokensRun final : public RunOf<PretrainingModel> {
 public:
  MaskedTokensRun(std::unique_ptr<PretrainingModel> model, PretrainingInput input)
      : RunOf(std::move(model)), data_(*model_, std::move(input)) {}

  std::string describe() override {
    const PretrainingOptions& o = model_->options;
    std::string text = describe_encoder(model_->config, *model_->graph) + data_.describe();
    text += fmt::format("objective {}{}", choice_name(o.objective),
                        o.whole_words ? ", whole words" : "");
    if (o.objective == PretrainingObjective::rtd) {
      text +=
          fmt::format(": generator width {}, weight {:g} for replaced-token detection",
                      generator_config(model_->config, o.generator_share).width, o.replaced_weight);
    }
    return text + "\n";
  }
  std::string batch_unit() const override {
    return fmt::format("x {} tokens", model_->config.max_tokens());
  }
  std::int64_t row_size() const override { return model_->config.max_tokens(); }

  TrainTask task(Session& session) override { return data_.task(session, *model_); }

  TaskReport report(Session&, const TrainOutcome& outcome, const std::string&) override {
    if (!data_.has_held_out()) return {};
    const auto metric = [&](std::string_view name) {
      for (const Metric& m : outcome.evaluation.metrics) {
        if (m.name == name) return m.value;
      }
      return std::numeric_limits<double>::quiet_NaN();
    };
    const PretrainingObjective objective = model_->options.objective;
    std::string text = fmt::format("held out  loss {:.4f}, {:.2f}% of the masked tokens predicted",
                                   outcome.evaluation.loss, 100 * metric("masked_accuracy"));
    if (reads_pairs(objective))
      text +=
          fmt::format(", {:.2f}% of the pairs classified correctly", 100 * metric("pair_accuracy"));
    if (objective == PretrainingObjective::rtd) {
      text += fmt::format(
          " by the generator, replaced tokens detected with accuracy {:.2f}%, AUC {:.4f}",
          100 * metric("replaced_accuracy"), metric("replaced_auc"));
    }
    return {text + "\n"};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    if (!data_.has_held_out()) throw DataError("no text was held out in training");
    return data_.task(session, model_as<PretrainingModel>(model)).evaluate(true);
  }

 private:
  PretrainingData data_;
};

/// Returns the encoder specified by the arguments, with the tokenizer of the token files.
NewEncoder encoder_of_tokens(EncoderConfig config, const TaskArguments& args,
                             const std::vector<TokenSource>& sources) {
  const Tokenizer tokenizer = tokenizer_of(sources, args);
  config.vocab = table_rows(config.vocab, tokenizer, args);
  config.padding_id = tokenizer.pad_id();
  return {chosen_config(config, args), tokenizer, {}};
}

class MaskedTokensTask final : public TaskOf<PretrainingModel> {
 public:
  explicit MaskedTokensTask(PretrainingObjective objective) : objective_(objective) {
    info_.id = info_.name = choice_name(objective);
    info_.family = "encoder";
    info_.about = kObjectiveDescriptions[static_cast<std::size_t>(objective)];
    info_.help = {{"batch", "rows of tokens per step"},
                  {"validation_fraction", "fraction of the documents held out for validation"}};
    if (objective == PretrainingObjective::mlm)
      info_.folders = "encoders ...ForMaskedLM and ...ForPreTraining";
  }

  const TaskInfo& info() const override { return info_; }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .files(kTextOption,
               reads_pairs(objective_)
                   ? "UTF-8 files, one sentence per line and a blank line between documents"
                   : fmt::format("UTF-8 files, one text per line, or {}", kTokenFilesHelp))
        .data();
    if (!reads_pairs(objective_)) {
      add_labelled_data(options,
                        "files with lines 'label <tab> text' or 'text <tab> label': the texts of "
                        "the training set are used, without their labels");
    }
    add_tokenizer(options, "bpe", true);
    std::set<std::string> skip = {"objective"};
    if (objective_ != PretrainingObjective::rtd)
      skip.insert({"generator_share", "replaced_weight"});
    return options.field_group(kPretrainingGroup, PretrainingOptions::fields(), skip);
  }
  TaskFields config_fields() const override {
    return {"Model", &EncoderConfig::fields(), {"vocab", "padding_id"}};
  }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(encoder_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    PretrainingInput input = read_input(args.options, objective_);
    const Preset<EncoderConfig> preset = chosen_preset(encoder_presets(), args);
    PretrainingOptions options =
        PretrainingOptions::fields().with({}, args.options.fields(kPretrainingGroup));
    options.objective = objective_;
    EncoderConfig base = base_config(preset.model, args);
    // Pairs need token types, but the presets are for single texts and have none.
    if (reads_pairs(objective_)) base.token_types = std::max<std::int64_t>(base.token_types, 2);
    const auto [config, tokenizer, notes] =
        input.tokens.empty() ? new_encoder(base, args, [&] { return sentences(input.documents); })
                             : encoder_of_tokens(base, args, input.tokens);
    auto model = std::make_unique<PretrainingModel>(
        build_pretraining_model(config, tokenizer, preset.training, options));
    auto loaded = start_weights(*model, args);
    return new_run<MaskedTokensRun>(preset.name, std::move(loaded), notes, std::move(model),
                                    std::move(input));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    if (objective_ != PretrainingObjective::mlm) return nullptr;
    return masked_language_model_of(folder, text);
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<PretrainingModel> model,
                                      const OptionValues& options) const override {
    return std::make_unique<MaskedTokensRun>(std::move(model), read_input(options, objective_));
  }

 private:
  PretrainingObjective objective_;
  TaskInfo info_;
};

}  // namespace

const Task& masked_tokens_task(PretrainingObjective objective) {
  static const MaskedTokensTask tasks[] = {
      MaskedTokensTask(PretrainingObjective::mlm), MaskedTokensTask(PretrainingObjective::mlm_nsp),
      MaskedTokensTask(PretrainingObjective::mlm_sop), MaskedTokensTask(PretrainingObjective::rtd)};
  return tasks[static_cast<std::size_t>(objective)];
}

}  // namespace weft
