#include "weft/models/tasks/next_token/instructions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/loss.h"
#include "weft/graph/functions/math.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/families/gpt.h"
#include "weft/models/tasks/next_token/language_writer.h"
#include "weft/models/text/chat/encode_chat.h"
#include "weft/models/text/chat/marks.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/training/run_distributed.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

std::string trimmed_answer(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

std::vector<InstructionExample> examples_of(const LanguageModel& model,
                                            const std::vector<Conversation>& conversations,
                                            InstructionLoss loss) {
  std::vector<InstructionExample> examples;
  for (const Conversation& turns : conversations)
    examples.push_back(make_example(model.tokenizer, *model.chat, turns, loss));
  return examples;
}

}  // namespace

LanguageModel build_instructed_model(const GptConfig& config, const Tokenizer& tokenizer,
                                     const ChatFormat& format, const TrainSettings& settings) {
  settings.check();
  LanguageModel model;
  model.task = "instructions";
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.chat = format;
  model.generation.emplace();
  const AnswerEnd end = answer_end(tokenizer, format);
  if (end.id >= 0) model.generation->options.eos_id = end.id;
  model.check();

  Graph& graph = *model.graph;
  const Value tokens = graph.input("tokens", DType::i32, {"batch", "seq"});
  const Value targets = graph.input("targets", DType::i32, {"batch", "seq"});
  const Gpt gpt(Scope(graph), config);
  const Precision precision = settings.precision;
  // The decode program declares the input "positions", which packed rows also use.
  model.programs.emplace("decode", gpt.decode_program(tokens).precision(precision));
  const Value segments = graph.input("segments", DType::i32, {"batch", "seq"});
  const GptInputs packed{
      .ids = tokens, .position_ids = graph.find_input("positions"), .segments = segments};
  const GptOutputs outputs = gpt.evaluation()(packed);
  name_outputs(outputs);
  model.add_program("evaluate")
      .precision(precision)
      .output("loss", cross_entropy(outputs.logits, targets, {.class_axis = -1}));
  const Value is_token = cast(not_equal(segments, 0), DType::i64);  // segment 0 is padding
  const GptOutputs trained = gpt.training()(packed);
  const Reduction reduction = settings.loss_reduction();
  const Value loss =
      cross_entropy(trained.logits, targets, {.class_axis = -1, .reduction = reduction});
  model.add_program("train").precision(precision).output(
      "loss", with_router_losses(loss, config, trained, is_token, reduction));
  model.add_program("score").precision(precision).output(
      "losses", cross_entropy(gpt.evaluation()({.ids = tokens}).logits, targets,
                              {.class_axis = -1, .reduction = Reduction::none}));
  return model;
}

InstructionData::InstructionData(const LanguageModel& model,
                                 const std::vector<Conversation>& train_part,
                                 const std::vector<Conversation>& held_out_part,
                                 InstructionLoss loss)
    : train(examples_of(model, train_part, loss), model.config.context, model.settings.seed),
      validation(examples_of(model, held_out_part, InstructionLoss::answers), model.config.context,
                 model.settings.seed),
      held_out(held_out_part) {
  if (train.size() == 0) {
    const std::string empty = "an empty answer, or the chat format renders no answer";
    if (train.too_long() == 0) {
      throw DataError(fmt::format("there is nothing to learn: each of the {} conversations has {}",
                                  train_part.size(), empty));
    }
    throw DataError(fmt::format(
        "none of the {} conversations fits into the model's context of {} tokens with an answer{}",
        train_part.size(), model.config.context,
        train.without_targets() == 0
            ? ""
            : fmt::format(": {} are longer, and {} have {}", train.too_long(),
                          train.without_targets(), empty)));
  }
}

double instruction_loss(Session& session, const Program& evaluate, const InstructionRows& rows,
                        std::int64_t batch, std::int64_t batches) {
  WeightedMean mean;
  const std::vector<std::int64_t> places =
      evenly_spread((rows.size() + batch - 1) / batch, batches);
  const auto batch_at = [&](std::int64_t i) {
    return rows.in_order(places[static_cast<std::size_t>(i)] * batch, batch);
  };
  run_distributed(
      session, evaluate, std::ssize(places), [&](std::int64_t i) { return batch_at(i).inputs; },
      [&](std::int64_t i, const Results& results) {
        mean.add(results["loss"].item<float>(), static_cast<double>(batch_at(i).counted));
      });
  return mean.value();
}

std::vector<std::string> instruction_answers(Session& session, const LanguageModel& model,
                                             const std::vector<Conversation>& questions,
                                             std::int64_t most_tokens) {
  if (!model.chat)
    throw ArgumentError("the model has no chat format, which is required to generate answers");
  LanguageWriter writer(session, model);
  const AnswerEnd end = answer_end(model.tokenizer, *model.chat);
  const bool spelled = end.id < 0 && !end.text.empty();
  GenerationOptions options = writer.options();
  options.sampling.reset();
  options.slide = false;
  if (end.id >= 0) options.stop_ids.push_back(end.id);
  if (spelled) options.stop_texts = {end.text};
  std::vector<std::string> answers(questions.size());
  // The maximum answer length depends on the prompt length, so batch prompts of equal length.
  std::map<std::int64_t, std::vector<std::size_t>> by_length;
  std::vector<TokenIds> prompts;
  EncodeChatOptions asking;
  asking.chat.add_generation_prompt = true;
  for (const Conversation& question : questions) {
    const EncodedChat chat = encode_chat(model.tokenizer, *model.chat, question, asking);
    by_length[std::ssize(chat.ids)].push_back(prompts.size());
    prompts.emplace_back(chat.ids.begin(), chat.ids.end());
  }
  for (const auto& [length, places] : by_length) {
    options.max_new = std::min(most_tokens, model.config.context - length);
    if (options.max_new < 1) continue;
    std::vector<TokenIds> some;
    for (const std::size_t place : places) some.push_back(prompts[place]);
    const std::vector<WrittenText> written = writer.generate_ids(some, options).run();
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::string text = repaired(written[i].text);
      if (spelled) text = text.substr(0, text.find(end.text));
      answers[places[i]] = trimmed_answer(text);
    }
  }
  return answers;
}

double AnsweredInstructions::exact_match() const {
  std::int64_t equal = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) equal += answers[i] == expected[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(answers.size());
}

AnsweredInstructions answer_instructions(Session& session, const LanguageModel& model,
                                         const std::vector<Conversation>& conversations,
                                         std::int64_t most) {
  AnsweredInstructions result;
  for (const std::int64_t place : evenly_spread(std::ssize(conversations), most)) {
    const Conversation& turns = conversations[static_cast<std::size_t>(place)];
    const auto last = std::find_if(turns.rbegin(), turns.rend(), [](const Message& message) {
      return message.role == "assistant";
    });
    result.questions.emplace_back(turns.begin(), last.base() - 1);
    result.expected.push_back(trimmed_answer(last->content));
  }
  result.answers = instruction_answers(session, model, result.questions);
  return result;
}

TrainTask instruction_task(Session& session, const LanguageModel& model,
                           const InstructionData& data) {
  const TrainSettings settings = model.settings;
  TrainTask task = train_task(model, "tokens", [&data, settings](const BatchPart& part) {
    InstructionBatch batch = data.train.batch(settings.batch, part);
    return TrainBatch{std::move(batch.inputs), batch.tokens};
  });
  if (data.validation.size() == 0) return task;
  task.evaluate = [&session, &model, &data, settings](bool whole) {
    const double loss =
        instruction_loss(session, model.program("evaluate"), data.validation,
                         settings.shard_batch(), whole ? 0 : settings.eval_shards());
    Evaluation found{loss, {{"perplexity", std::exp(loss)}}};
    if (whole) {
      const AnsweredInstructions answered =
          answer_instructions(session, model, data.held_out, kComparedAnswers);
      found.metrics.push_back({"exact match", answered.exact_match()});
    }
    return found;
  };
  return task;
}

}  // namespace weft
