// weft train gpt --task instructions
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/formats/conversations.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/tasks/common/tokenizer_choice.h"
#include "weft/models/tasks/next_token/instructions.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/task.h"
#include "weft/models/text/chat/marks.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/serialization/checkpoint.h"

namespace weft {
namespace {

constexpr const char *kChatFormat = "--chat-format", *kCounted = "--loss", *kDropouts = "--dropout";

/// The alpaca format separates an instruction from its input; other formats have no separate role
/// for inputs.
InstructionInput input_of(const ChatFormat& format) {
  return format.source() == ChatFormat::built_in("alpaca").source() ? InstructionInput::message
                                                                    : InstructionInput::joined;
}

ConversationSplit read_split(const OptionValues& values, const ChatFormat& format,
                             const TrainSettings& settings) {
  const std::vector<std::string>& paths = values.texts(kDataOption);
  if (paths.empty())
    throw ArgumentError(
        "--data is required: JSON Lines files in which each line is a conversation, or an "
        "instruction "
        "and its answer");
  std::vector<Conversation> all = read_conversations(paths, input_of(format));
  if (!values.has(kHeldOutOption))
    return hold_out(all, settings.validation_fraction, settings.seed);
  return {std::move(all), read_conversations(values.texts(kHeldOutOption), input_of(format))};
}

InstructionLoss counted(const OptionValues& values) {
  return parse_choice<InstructionLoss>(values.choice(kCounted, "answers"));
}

/// Returns the beginning of a text on one line, for display.
std::string one_line_excerpt(const std::string& text) {
  constexpr std::size_t kMost = 200;
  std::string line = text.substr(0, kMost);
  while (!line.empty() && line.size() < text.size() &&
         (static_cast<unsigned char>(text[line.size()]) & 0xC0) == 0x80)
    line.pop_back();
  if (line.size() < text.size()) line += "...";
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

class InstructionRun final : public RunOf<LanguageModel> {
 public:
  InstructionRun(std::unique_ptr<LanguageModel> model, const ConversationSplit& split,
                 InstructionLoss loss)
      : RunOf(std::move(model)), data_(*model_, split.train, split.held_out, loss), loss_(loss) {}

  std::string describe() override {
    const GptConfig& c = model_->config;
    std::string text = fmt::format(
        "model     GPT: {} layers, {} heads, width {}, context {}, {} {}: {} parameters\n"
        "data      {} training conversations, {} tokens, {} of them in the loss{}; {} for "
        "validation\n",
        c.layers, c.heads, c.width, c.context, c.vocab, model_->tokenizer.unit(),
        grouped(c.parameter_count()), grouped(data_.train.examples()),
        grouped(data_.train.tokens()), grouped(data_.train.counted()),
        loss_ == InstructionLoss::answers ? " (answers)" : "",
        grouped(data_.validation.examples()));
    if (const std::int64_t out = data_.train.left_out() + data_.validation.left_out(); out > 0) {
      text += fmt::format(
          "          {} more are not used: {} are longer than the context, and {} have an empty "
          "answer, or the format renders none\n",
          grouped(out), grouped(data_.train.too_long() + data_.validation.too_long()),
          grouped(data_.train.without_targets() + data_.validation.without_targets()));
    }
    text +=
        fmt::format("packing   {} rows of up to {} tokens; {:.0f}% of the tokens are not padding\n",
                    grouped(data_.train.size()), c.context,
                    100 * static_cast<double>(data_.train.tokens()) /
                        static_cast<double>(data_.train.size() * c.context));
    if (const AnswerEnd end = answer_end(model_->tokenizer, *model_->chat); end.text.empty()) {
      text += "format    answers have no end mark, so the model cannot learn where answers end\n";
    } else if (end.id < 0) {
      text += fmt::format("format    the tokenizer has no id for {}, so it is encoded as text\n",
                          end.text);
    }
    return text;
  }
  std::string batch_unit() const override {
    return fmt::format("x {} {}", model_->config.context, model_->tokenizer.unit());
  }
  std::int64_t row_size() const override { return model_->config.context; }

  TrainTask task(Session& session) override { return instruction_task(session, *model_, data_); }

  /// Returns the answer to the first held-out question.
  std::string sample(Session& session) override {
    if (data_.held_out.empty()) return {};
    const AnsweredInstructions one =
        answer_instructions(session, *model_, {data_.held_out.front()});
    return fmt::format("{} -> {}", one_line_excerpt(one.questions.front().back().content),
                       one_line_excerpt(one.answers.front()));
  }

  TaskReport report(Session& session, const TrainOutcome&, const std::string&) override {
    if (data_.held_out.empty()) return {};
    const AnsweredInstructions all =
        answer_instructions(session, *model_, data_.held_out, kComparedAnswers);
    constexpr std::int64_t kShown = 5;
    std::string text;
    for (const std::int64_t place : evenly_spread(std::ssize(all.answers), kShown)) {
      const auto i = static_cast<std::size_t>(place);
      text += fmt::format("question  {}\nexpected  {}\nanswer    {}\n\n",
                          one_line_excerpt(all.questions[i].back().content),
                          one_line_excerpt(all.expected[i]), one_line_excerpt(all.answers[i]));
    }
    return {text +
            fmt::format("answers   {:.2f}% of {} greedy answers match the expected ones exactly\n",
                        100 * all.exact_match(), all.answers.size())};
  }

  Evaluation measure(Session& session, const TrainedModel& model) override {
    if (data_.validation.size() == 0) throw DataError("no conversation was held out");
    const LanguageModel& measured = model_as<LanguageModel>(model);
    const double loss = instruction_loss(session, measured.program("evaluate"), data_.validation,
                                         model_->settings.shard_batch());
    return {
        loss,
        {{"exact match",
          answer_instructions(session, measured, data_.held_out, kComparedAnswers).exact_match()}}};
  }

 private:
  InstructionData data_;
  InstructionLoss loss_;
};

class InstructionTask final : public TaskOf<LanguageModel> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{
        .id = "instructions",
        .family = "gpt",
        .name = "instructions",
        .about = "instruction tuning: follow instructions and hold conversations",
        .help = {{"batch", "rows of packed conversations per step"},
                 {"validation_fraction",
                  "fraction of the distinct questions held out for validation if there is no "
                  "--held-out"}},
        .perplexity = true};
    return info;
  }
  TaskOptions options() const override {
    TaskOptions options;
    options
        .files(kDataOption,
               "JSON Lines files with conversations, {\"messages\": [...]}, or instructions, "
               "{\"instruction\", \"input\", \"output\"}; plain, .gz or .zst")
        .files(kHeldOutOption, "conversation files for validation, instead of a part of --data")
        .choice(kCounted, {"answers", "all"},
                "tokens included in the training loss (default: answers); the validation loss "
                "counts answers only")
        .data();
    options.file(kChatFormat,
                 "chat format: chatml, llama-2, llama-3, alpaca, or a file with a template "
                 "(default: the format of the initial weights); marks without token ids are "
                 "encoded as text");
    add_tokenizer(options, "byte-bpe, with token ids for the marks of the format", true)
        .real(kDropouts, {0, 0.99}, "all three dropout rates");
    return options;
  }
  TaskFields config_fields() const override { return {"Model", &GptConfig::fields(), {"vocab"}}; }
  std::vector<PresetDescription> presets() const override {
    return preset_descriptions(instruction_presets());
  }

  std::unique_ptr<TaskRun> start(const TaskArguments& args) const override {
    const Preset<GptConfig> preset = chosen_preset(instruction_presets(), args);
    const ChatFormat format = format_for(args);
    const ConversationSplit split = read_split(args.options, format, preset.training);
    GptConfig config = base_config(preset.model, args);
    const auto [tokenizer, notes] = tokenizer_for(args, format, split);
    if (!args.from) {
      config.vocab = tokenizer.vocab_size();
      config.padding_id = -1;
    }
    if (args.options.has(kDropouts)) {
      config.embedding_dropout = config.attention_dropout = config.residual_dropout =
          args.options.real(kDropouts, 0);
    }
    auto model = std::make_unique<LanguageModel>(
        build_instructed_model(chosen_config(config, args), tokenizer, format, preset.training));
    auto loaded = start_weights(*model, args);
    return new_run<InstructionRun>(preset.name, std::move(loaded), notes, std::move(model), split,
                                   counted(args.options));
  }

  std::unique_ptr<TaskRun> open_model(std::unique_ptr<LanguageModel> model,
                                      const OptionValues& options) const override {
    if (!model->chat) throw FormatError("the model has no chat format");
    const ConversationSplit split = read_split(options, *model->chat, model->settings);
    return std::make_unique<InstructionRun>(std::move(model), split, counted(options));
  }

 private:
  /// Returns the chat format of the model in a file or folder, if it has one.
  static std::optional<ChatFormat> own_format(const std::string& path) {
    if (std::filesystem::is_directory(path)) return read_chat_format(path).format;
    if (gguf::is_gguf(path)) return gguf::read_model(path).chat;
    const Checkpoint file = load_checkpoint(path, {.verify = true, .once = true});
    const Attachment* found = file.find_attachment(kChatPart);
    if (found == nullptr) return std::nullopt;
    return ChatFormat::from_json(found->bytes);
  }

  static ChatFormat format_for(const TaskArguments& args) {
    const std::string& asked = args.options.text(kChatFormat);
    if (asked.empty()) {
      if (args.from) {
        if (auto own = own_format(args.from->source)) return *std::move(own);
      }
      throw ArgumentError(fmt::format(
          "--chat-format is required{}: chatml, llama-2, llama-3, alpaca, or a file with a "
          "template",
          args.from ? fmt::format(", because {} has no chat format", args.from->source) : ""));
    }
    SpecialTexts specials;
    if (args.from && args.from->text.tokenizer)
      specials = special_texts(*args.from->text.tokenizer);
    if (std::filesystem::exists(asked)) {
      const std::string source = read_utf8_file(asked);
      try {
        return ChatFormat::from_template(source, std::move(specials));
      } catch (const FormatError& e) {
        throw FormatError(fmt::format("{}: {}", asked, e.what()));
      }
    }
    return ChatFormat::built_in(asked, specials);
  }

  static LearnedTokenizer tokenizer_for(const TaskArguments& args, const ChatFormat& format,
                                        const ConversationSplit& split) {
    if (args.from) return {args.from->tokenizer()};
    const TokenizerChoice choice = tokenizer_choice(args.options, "byte-bpe");
    if (choice.kind == TokenizerChoice::Kind::characters) {
      ChatOptions asking;
      asking.add_generation_prompt = true;
      std::string all;
      for (const auto* part : {&split.train, &split.held_out}) {
        for (const Conversation& turns : *part) all += format.render(turns, asking).text;
      }
      return {CharacterTokenizer::from_text(all)};
    }
    const auto texts = [&] {
      std::vector<std::string> learned;
      for (const Conversation& turns : split.train) {
        for (const Message& message : turns)
          learned.push_back(message.role + "\n" + message.content);
      }
      return learned;
    };
    return make_tokenizer(choice, {.texts = texts,
                                   .special = marks_of(format),
                                   .pieces = {.character_coverage = 1, .keep_whitespace = true}});
  }
};

}  // namespace

const Task& instruction_tuning_task() {
  static const InstructionTask task;
  return task;
}

}  // namespace weft
