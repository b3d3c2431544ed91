// weft answer: extracts answers to questions from a text.
#include <fmt/format.h>

#include <memory>

#include "weft/core/error.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/unicode/blank_text.h"

namespace weft::program {
namespace {

struct AnswerArguments {
  ModelPath file;
  std::string context, questions_file;
  std::vector<std::string> questions;
  AnswerOptions options;
  bool json = false;
  Execution execution;
};

void print_answers(const std::string& question, const std::vector<Answer>& answers) {
  say("{}\n", question);
  for (const Answer& answer : answers) {
    if (answer.none) {
      say("  (no answer)  {:.4f}\n", answer.probability);
    } else {
      say("  {}  {:.4f}  {}-{}\n", answer.text, answer.probability, answer.begin, answer.end);
    }
  }
  if (answers.empty()) say("  (no answer)\n");
}

void print_answers_json(const std::string& question, const std::vector<Answer>& answers) {
  JsonLine all = JsonLine::array();
  for (const Answer& answer : answers) {
    if (answer.none) continue;
    all.push_back({{"text", answer.text},
                   {"begin", answer.begin},
                   {"end", answer.end},
                   {"score", rounded(answer.score)},
                   {"probability", rounded(answer.probability)}});
  }
  say_json({{"question", question}, {"answers", std::move(all)}});
}

std::vector<std::string> questions_of(const AnswerArguments& args) {
  if (args.questions.empty() == args.questions_file.empty()) {
    throw UsageError(
        "give either --question, or --questions FILE with one question per line (- is stdin)");
  }
  if (args.questions_file.empty()) return args.questions;
  std::vector<std::string> lines = read_lines(args.questions_file);
  if (lines.empty()) {
    throw DataError(fmt::format("{} contains no question",
                                args.questions_file == "-" ? "stdin" : args.questions_file));
  }
  return lines;
}

int run_answer(const AnswerArguments& args, const World& world) {
  const std::string context = from_first(world, [&] {
    std::string text = read_utf8_file(args.context);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
      throw DataError(fmt::format("{} contains no text", args.context));
    return text;
  });
  const std::vector<std::string> lines = texts_of_first(world, [&] { return questions_of(args); });
  std::vector<Question> questions;
  std::vector<std::size_t> numbers;  // of the questions; a blank line has no answers
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_blank(lines[i])) continue;
    questions.push_back({lines[i], context});
    numbers.push_back(i);
  }
  ModelSession opened(Use::answer, args.file, args.execution, world);
  const SpeedReport speed;
  const PlaceOf place = [&](std::size_t i) {
    if (!args.questions_file.empty()) return lines_in(args.questions_file)(numbers[i]);
    return lines.size() == 1 ? "the question" : fmt::format("question {}", numbers[i] + 1);
  };
  const auto found = with_places(
      place, [&] { return answer(opened.session, *opened.model, questions, args.options); });
  std::vector<std::vector<Answer>> answers(lines.size());
  for (std::size_t i = 0; i < found.size(); ++i) answers[numbers[i]] = found[i];
  for (std::size_t i = 0; i < lines.size(); ++i)
    (args.json ? print_answers_json : print_answers)(lines[i], answers[i]);
  if (!args.questions_file.empty()) speed.done("questions", std::ssize(lines));
  return 0;
}

}  // namespace

void add_answer_command(CLI::App& app, Action& action) {
  OptionList options(app, "answer",
                     "Extract answers to questions from a text, with their byte offsets");
  const auto args = std::make_shared<AnswerArguments>();
  AnswerOptions& o = args->options;
  options
      .input("file", args->file,
             "a .weft file written by weft train encoder --task answer, or a Hugging Face folder "
             "with a ...ForQuestionAnswering model")
      .required();
  options.texts("--question", args->questions, OptionList::Times::repeated,
                "the question; repeat for several questions about one text");
  options.input("--questions", args->questions_file, "file with one question per line; - is stdin");
  options
      .input("--context", args->context, "text file (UTF-8, of any length) to search for answers")
      .required();
  options.integer("--top", o.most, {1, 1000},
                  "number of non-overlapping answers per question (default 1)");
  options.integer(
      "--answer-tokens", o.most_tokens, {1, 100'000},
      "maximum length of an answer in tokens (default: the value used in training, or 30)");
  options.integer("--window", o.window, {8, 1'000'000},
                  "tokens per window, including the question (default: the value used in training, "
                  "or 384 or the model's maximum)");
  options.integer("--stride", o.stride, {0, 1'000'000},
                  "number of tokens by which adjacent windows overlap (default: the value used in "
                  "training, or 128)");
  options.real("--no-answer", o.no_answer, {-1000, 1000},
               "report no answer if the score of the best answer exceeds the no-answer score by "
               "less than this value (default: 0 for models trained with unanswerable questions; "
               "otherwise, always answer)");
  options.flag("--json", args->json, "print one JSON object per line: question, answers");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run_answer(*args, world); });
}

}  // namespace weft::program
