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
// Of GptConfig, what ids become and what becomes ids: a new tokenizer needs new ones.
const std::vector<std::string> kOfVocabulary = {"transformer.wte.*", "lm_head.*"};

/// What is learned from: a text, or token files.
struct LanguageInput {
  std::string name;  // for people
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
           fmt::format("text      {}: {} {} to train on, {} to validate\n", name_,
                       grouped(data_.ids.train_size()), unit, grouped(data_.ids.validation_size()));
  }
  std::string batch_unit() const override {
    return fmt::format("x {} {}", model_->config.context, model_->tokenizer.unit());
  }
  std::int64_t row_size() const override { return model_->config.context; }

  TrainTask task(Session& session) override {
    return text_task(session, *model_, data_, model_->config.context);
  }

  /// One line of text from the model as it is now, with line breaks shown as spaces.
  std::string sample(Session& session) override {
    const auto start = model_->tokenizer.start_ids();
    const TokenIds prompt(start.begin(), start.end());
    const GenerationOptions options{
        .max_new = model_->tokenizer.reads_characters() ? 72 : 24,
        .forbidden = ids_without_text(*model_),
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
        fmt::format("bits      {:.4f} per byte of the held-out text: what models with other "
                    "tokenizers can be compared by\nvalidation loss {:.4f}\n",
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

/// What pieces are learned from: the part of a text that trains. No character of the other is
/// unknown: figures per byte are of the whole text.
std::vector<std::string> texts_to_learn(const std::string& text, double validation_fraction) {
  const TextParts parts = split_text(text, validation_fraction);
  // Each of the characters once, between blanks: nothing is learned of what stands beside it.
  const std::string characters = CharacterTokenizer::from_text(text).characters();
  std::string alphabet;
  for (std::size_t at = 0; at < characters.size(); alphabet += ' ')
    append_utf8(alphabet, next_code_point(characters, at));
  return {std::string(parts.train), alphabet};
}

/// Says so where a tokenizer does not give the text back that it reads.
std::string note_of_losses(const Tokenizer& tokenizer, const std::string& text) {
  constexpr std::size_t kExamined = 4096;
  std::size_t size = std::min(text.size(), kExamined);
  while (size < text.size() && goes_on(text[size])) --size;
  const std::string part = text.substr(0, size);
  if (tokenizer.decode(tokenizer.encode(part)) == part) return {};
  return "tokenizer the text does not come back from its ids as it was (blanks, line breaks or "
         "capitals are lost):\n          bits per byte are still of all its bytes\n";
}

LanguageInput read_input(const OptionValues& values) {
  std::vector<std::string> names = values.texts(kText);
  names.insert(names.end(), values.texts(kData).begin(), values.texts(kData).end());
  if (names.empty())
    throw ArgumentError("--text is required: the file to learn from (or --data: token files)");
  const auto tokens = std::count_if(names.begin(), names.end(), names_token_set);
  if (tokens == 0 && names.size() == 1) {
    std::string text = read_utf8_file(names.front());
    if (text.empty()) throw DataError(fmt::format("{} holds no text", names.front()));
    return {names.front(), std::move(text)};
  }
  if (tokens < std::ssize(names)) {
    throw ArgumentError(fmt::format(
        "{} is no token file, but one of {} files: a text is learned from alone, several are made "
        "into token files by weft data tokenize",
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
        .about = "a language model of a text",
        .help = {{"batch", "windows per step"},
                 {"validation_fraction", "part of the text, at its end, that validates"}},
        .folders = "decoders ...LMHeadModel and ...ForCausalLM",
        .uses = {Use::generate, Use::chat, Use::score},
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options.files(kText, "UTF-8 file to learn from, or token files; the end validates")
        .files(kData,
               "token files as weft data tokenize makes them: their first file, or what all names "
               "begin with; of several, how often each is learned from: corpus=0.7 other=0.3")
        .data();
    add_tokenizer(options,
                  "chars; with --from that of the weights: with another one the embeddings are "
                  "learned anew; of token files their own",
                  false)
        .real(kDropout, {0, 0.99}, "all three dropout rates");
    return options;
  }
  TaskFields config_fields() const override { return {"Model", &GptConfig::fields(), {"vocab"}}; }
  std::vector<PresetAbout> presets() const override { return abouts(gpt_presets()); }

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
    auto loaded = start_weights(*model, args, learned ? kOfVocabulary : std::vector<std::string>{});
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
      made.notes += note_of_losses(made.tokenizer, text);
      return made;
    }
    if (args.from->text.tokenizer) return {*args.from->text.tokenizer};
    throw FormatError(
        fmt::format("{}; or --tokenizer bpe learns pieces of the text, and the embeddings of the "
                    "model start anew",
                    args.from->text.missing));
  }
};

}  // namespace

const Task& next_token_task() {
  static const NextTokenTask task;
  return task;
}

}  // namespace weft
