#include "weft/models/tasks/next_token/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "weft/core/error.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/generate/generator.h"
#include "weft/models/tasks/common/text_data.h"
#include "weft/models/tasks/common/token_data.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/tokenizers/text_stream.h"
#include "weft/models/tokenizers/utf8.h"

namespace weft {
namespace {

constexpr const char *kText = "--text", *kData = "--data", *kDropout = "--dropout";
// Input and output embeddings of a GPT, which a new tokenizer replaces.
const std::vector<std::string> kVocabularyParameters = {"transformer.wte.*", "lm_head.*"};

/// The training data: a text, or token files.
struct LanguageInput {
  std::string name;  // for messages to users
  std::string text = {};
  std::vector<TokenSource> tokens = {};
};

class NextTokenRun final : public RunOf<LanguageModel> {
 public:
  NextTokenRun(std::unique_ptr<LanguageModel> model, const LanguageInput& input)
      : RunOf(std::move(model)),
        data_(input.tokens.empty() ? read_text(*model_, input.text)
                                   : read_tokens(*model_, input.tokens)),
        name_(input.name) {}

  std::string describe() override {
    const GptConfig& c = model_->config;
    const std::string_view unit = model_->tokenizer.unit();
    return fmt::format(
               "model     GPT: {} layers, {} heads, width {}, context {}, {} {}: {} parameters\n",
               c.layers, c.heads, c.width, c.context, c.vocab, unit, grouped(c.parameter_count())) +
           fmt::format("text      {}: {} {} for training, {} for validation\n", name_,
                       grouped(data_.ids.train_size()), unit, grouped(data_.ids.validation_size()));
  }
  std::string batch_unit() const override {
    return fmt::format("x {} {}", model_->config.context, model_->tokenizer.unit());
  }
  std::int64_t row_size() const override { return model_->config.context; }

  TrainTask task(Session& session) override {
    return text_task(session, *model_, data_, model_->config.context);
  }

  /// Generates one line of text with the current model; line breaks are shown as spaces.
  std::string sample(Session& session) override {
    const auto start = model_->tokenizer.start_ids();
    const TokenIds prompt(start.begin(), start.end());
    const GenerationOptions options{
        .max_new = model_->tokenizer.reads_characters() ? 72 : 24,
        .bad_token_ids = ids_without_text(*model_),
        .sampling = SamplingOptions{.temperature = 0.8, .seed = model_->settings.seed},
        .slide = true};
    Generator generator(session, model_->program("decode"), model_->config);
    TextStream stream(model_->tokenizer, prompt);
    std::string line;
    generator.generate({prompt}, options, [&](std::int64_t, std::int64_t id) {
      line += stream.add(id);
      return true;
    });
    line += stream.finish();
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return line;
  }

  TaskReport report(Session&, const TrainOutcome& outcome, const std::string&) override {
    if (data_.ids.validation_size() <= 1) return {};
    const double loss = outcome.evaluation.loss;
    return {
        fmt::format("bits      {:.4f} per byte of the held-out text, comparable across "
                    "tokenizers\nvalidation loss {:.4f}\n",
                    data_.bits_per_byte(loss), loss)};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    const double loss = validation_loss(session, model.program("evaluate"), data_.ids,
                                        model_->settings.shard_batch(), model_->config.context);
    return {loss, {{kBitsPerByte, data_.bits_per_byte(loss)}}};
  }

 private:
  LanguageData data_;
  std::string name_;
};

/// Returns the texts that pieces are learned from: the training part of `text`, and all characters
/// of the whole text. So no character of the validation part is unknown, and metrics per byte cover
/// the whole text.
std::vector<std::string> texts_to_learn(const std::string& text, double validation_fraction) {
  const TextParts parts = split_text(text, validation_fraction);
  // Each character occurs once, between spaces: nothing is learned about its neighbours.
  const std::string characters = CharacterTokenizer::from_text(text).characters();
  std::string alphabet;
  for (std::size_t at = 0; at < characters.size(); alphabet += ' ')
    append_utf8(alphabet, next_code_point(characters, at));
  return {std::string(parts.train), alphabet};
}

/// Returns a note for users if decoding does not reproduce the text; otherwise an empty text.
std::string lossy_tokenizer_note(const Tokenizer& tokenizer, const std::string& text) {
  constexpr std::size_t kExamined = 4096;
  std::size_t size = std::min(text.size(), kExamined);
  while (size < text.size() && is_continuation(text[size])) --size;
  const std::string part = text.substr(0, size);
  if (tokenizer.decode(tokenizer.encode(part)) == part) return {};
  return "tokenizer decoding does not reproduce the text (spaces, line breaks or capitals are "
         "lost):\n          bits per byte still count all of its bytes\n";
}

LanguageInput read_input(const OptionValues& values) {
  std::vector<std::string> names = values.texts(kText);
  names.insert(names.end(), values.texts(kData).begin(), values.texts(kData).end());
  if (names.empty())
    throw ArgumentError("--text is required: the file to train on (or --data: token files)");
  const auto tokens = std::count_if(names.begin(), names.end(), names_token_set);
  if (tokens == 0 && names.size() == 1) {
    std::string text = read_utf8_file(names.front());
    if (text.empty()) throw DataError(fmt::format("{} holds no text", names.front()));
    return {names.front(), std::move(text)};
  }
  if (tokens < std::ssize(names)) {
    throw ArgumentError(
        fmt::format("{} is not a token file, but one of {} files: train on a single text, or make "
                    "token files of several with weft data tokenize",
                    *std::find_if_not(names.begin(), names.end(), names_token_set), names.size()));
  }
  return {fmt::format("{}", fmt::join(names, ", ")), {}, open_token_sources(names)};
}

class NextTokenTask final : public TaskOf<LanguageModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "next-token",
        .family = "gpt",
        .name = "next-token",
        .about = "predict the next token of a text",
        .help = {{"batch", "windows per step"},
                 {"validation_fraction", "share of the text, at its end, for validation"}},
        .folders = "decoders ...LMHeadModel and ...ForCausalLM",
        .uses = {Use::generate, Use::chat, Use::score},
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options.files(kText, "UTF-8 file to train on, or token files; the end is for validation")
        .files(kData,
               "token files made by weft data tokenize: the first file, or the common beginning of "
               "their names; if there are several, with sampling weights: corpus=0.7 other=0.3")
        .data();
    add_tokenizer(options,
                  "chars; with --from, that of the weights: another one reinitialises the "
                  "embeddings; with token files, their own",
                  false)
        .real(kDropout, {0, 0.99}, "all three dropout rates");
    return options;
  }
  TaskFields config_fields() const override { return {"Model", &GptConfig::fields(), {"vocab"}}; }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(gpt_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const LanguageInput input = read_input(args.options);
    const Preset<GptConfig> preset = chosen_preset(gpt_presets(), args);
    GptConfig config = base_config(preset.model, args);
    const auto [tokenizer, notes] = tokenizer_for(args, input, preset.training.validation_fraction);
    const bool learned = !args.from || (input.tokens.empty() && args.options.has(kTokenizerOption));
    if (learned) {
      config.vocab = tokenizer.vocab_size();
      config.padding_id = -1;
    }
    if (args.options.has(kDropout)) {
      config.embedding_dropout = config.attention_dropout = config.residual_dropout =
          args.options.real(kDropout, 0);
    }
    auto model = std::make_unique<LanguageModel>(
        build_language_model(chosen_config(config, args), tokenizer, preset.training));
    auto loaded =
        start_weights(*model, args, learned ? kVocabularyParameters : std::vector<std::string>{});
    return new_run<NextTokenRun>(preset.name, std::move(loaded), notes, std::move(model), input);
  }

  std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                const OptionValues& options) const override {
    return std::make_unique<NextTokenRun>(model_as<LanguageModel>(std::move(model)),
                                          read_input(options));
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    return language_model_of(folder, text);
  }
  FolderModel to_folder(const TrainedModel& model) const override {
    return folder_model_of(dynamic_cast<const LanguageModel&>(model));
  }
  std::unique_ptr<TextGenerator> text_generator(Session& session,
                                                const TrainedModel& model) const override {
    return std::make_unique<LanguageWriter>(session, dynamic_cast<const LanguageModel&>(model));
  }

 private:
  static LearnedTokenizer tokenizer_for(const TaskArguments& args, const LanguageInput& input,
                                        double validation_fraction) {
    if (!input.tokens.empty()) return {tokenizer_of(input.tokens, args)};
    const std::string& text = input.text;
    const TokenizerChoice choice = tokenizer_choice(args.options, "chars");
    if (!args.from || args.options.has(kTokenizerOption)) {
      if (choice.kind == TokenizerChoice::Kind::characters)
        return {CharacterTokenizer::from_text(text)};
      LearnedTokenizer made = make_tokenizer(
          choice, {.texts = [&] { return texts_to_learn(text, validation_fraction); },
                   .pieces = {.character_coverage = 1, .keep_whitespace = true}});
      made.notes += lossy_tokenizer_note(made.tokenizer, text);
      return made;
    }
    if (args.from->text.tokenizer) return {*args.from->text.tokenizer};
    throw FormatError(
        fmt::format("{}; or use --tokenizer bpe, which learns pieces from the text and "
                    "reinitialises the embeddings of the model",
                    args.from->text.missing));
  }
};

}  // namespace

const Task& next_token_task() {
  static const NextTokenTask task;
  return task;
}

}  // namespace weft
