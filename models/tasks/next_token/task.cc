#include "weft/models/tasks/next_token/task.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/generate/generator.h"
#include "weft/models/hf/published.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/text_task.h"

namespace weft {
namespace {

constexpr const char* kText = "--text";
constexpr const char* kDropout = "--dropout";

class NextTokenRun final : public TaskRun {
 public:
  NextTokenRun(std::unique_ptr<LanguageModel> model, const std::string& text, std::string path)
      : model_(std::move(model)),
        data_(model_->tokenizer.encode(text), model_->settings.validation_fraction),
        path_(std::move(path)) {}

  TrainedModel& model() override { return *model_; }

  std::string describe() override {
    const GptConfig& c = model_->config;
    return fmt::format(
               "model     GPT: {} layers, {} heads, width {}, context {}, {} characters: {} "
               "parameters\n",
               c.layers, c.heads, c.width, c.context, c.vocab, grouped(c.parameter_count())) +
           fmt::format("text      {}: {} characters to train on, {} to validate\n", path_,
                       grouped(data_.train_size()), grouped(data_.validation_size()));
  }
  std::string batch_unit() const override {
    return fmt::format("x {} characters", model_->config.context);
  }
  std::int64_t row_size() const override { return model_->config.context; }

  TrainTask task(Session& session) override {
    return text_task(session, *model_, data_, model_->config.context);
  }

  /// One line of text from the model as it is now, with line breaks shown as spaces.
  std::string sample(Session& session) override {
    const auto start = model_->tokenizer.encode(model_->tokenizer.start_text());
    const GenerationOptions options{
        .max_new = 72,
        .sampling = SamplingOptions{.temperature = 0.8, .seed = model_->settings.seed},
        .slide = true};
    Generator generator(session, model_->program("decode"), model_->config);
    const TokenIds text =
        generator.generate({TokenIds(start.begin(), start.end())}, options).sequences.front();
    const std::vector<std::int32_t> fresh(text.begin() + std::ssize(start), text.end());
    std::string line = model_->tokenizer.decode(fresh);
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return line;
  }

  TaskReport report(Session&, const TrainOutcome& outcome, const std::string&) override {
    if (data_.validation_size() <= 1) return {};
    return {fmt::format("validation loss {:.4f}\n", outcome.evaluation.loss)};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    return {validation_loss(session, model.program("evaluate"), data_, model_->settings.batch,
                            model_->config.context),
            {}};
  }

 private:
  std::unique_ptr<LanguageModel> model_;
  TextData data_;
  std::string path_;
};

const std::string& text_path(const OptionValues& values) {
  const std::string& path = values.text(kText);
  if (path.empty()) throw ArgumentError("--text is required: the file to learn from");
  return path;
}

class NextTokenTask final : public Task {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "next-token",
        .family = "gpt",
        .name = "next-token",
        .about = "a language model of a text",
        .help = {{"batch", "windows per step"},
                 {"validation_fraction", "part of the text, at its end, that validates"}},
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options.file(kText, "UTF-8 file to learn from; its end validates")
        .data()
        .real(kDropout, {0, 0.99}, "all three dropout rates");
    return options;
  }
  TaskFields config_fields() const override { return {"Model", &GptConfig::fields(), {"vocab"}}; }
  std::vector<PresetAbout> presets() const override { return abouts(gpt_presets()); }
  std::unique_ptr<TrainedModel> empty_model() const override {
    return std::make_unique<LanguageModel>();
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const std::string& path = text_path(args.options);
    const std::string text = read_utf8_file(path);
    const Preset<GptConfig> preset = chosen_preset(gpt_presets(), args);
    GptConfig config = preset.model;
    CharacterTokenizer tokenizer;
    if (args.from) {
      config = args.from->config_of<GptConfig>();
      tokenizer = PartValue<CharacterTokenizer>::read(args.from->tokenizer_part());
    } else {
      tokenizer = CharacterTokenizer::from_text(text);
      config.vocab = tokenizer.vocab_size();
    }
    if (args.options.has(kDropout)) {
      config.embedding_dropout = config.attention_dropout = config.residual_dropout =
          args.options.real(kDropout, 0);
    }
    auto model = std::make_unique<LanguageModel>(
        build_language_model(chosen_config(config, args), tokenizer, preset.training));
    std::optional<LoadReport> loaded;
    if (args.from) loaded = start_weights(*model, args, args.from->weights);
    auto run = std::make_unique<NextTokenRun>(std::move(model), text, path);
    run->preset = preset.name;
    run->loaded = std::move(loaded);
    return run;
  }

  std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                const OptionValues& options) const override {
    const std::string& path = text_path(options);
    return std::make_unique<NextTokenRun>(model_as<LanguageModel>(std::move(model)),
                                          read_utf8_file(path), path);
  }
};

}  // namespace

const Task& next_token_task() {
  static const NextTokenTask task;
  return task;
}

}  // namespace weft
