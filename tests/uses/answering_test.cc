// Extractive question answering, in which answers are spans of the given text.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/span_answering/span_answerer.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/trainer.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(answering)
namespace {

const std::string kQuestion = "where is mary brown ?";
const std::string kShort = "mary brown lives in new york , a town in the river .";

std::string long_context() {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "the film of bob was very long and dull , good or bad . ";
  return text + kShort;
}

std::vector<Answer> answers(const std::string& path, const std::string& context,
                            const AnswerOptions& options = {}) {
  const auto [task, model, notes] = load_any_model(path);
  BOOST_TEST(task.info().id == "span-answering");
  Session session(*model->graph, model->store);
  return answer(session, *model, {{kQuestion, context}}, options)[0];
}

struct Best {
  std::size_t begin = 0, end = 0;
  double score = -1e30, none = 0;
};
/// Finds the best span in one row by trying all spans.
Best best_span(const TinyFolder& folder, bool types, std::size_t most_tokens) {
  const Encoding row = folder.ids(kQuestion, kShort);
  const Tensor start = folder.output("start_logits", row, types);
  const Tensor end = folder.output("end_logits", row, types);
  Best best;
  best.none = start.at(0) + end.at(0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = i; j < std::min(row.size(), i + most_tokens); ++j) {
      if (row.sequences[i] != 1 || row.sequences[j] != 1) continue;
      const double score =
          start.at(static_cast<std::int64_t>(i)) + end.at(static_cast<std::int64_t>(j));
      if (score > best.score) {
        best = {row.spans[i].begin, row.spans[j].end, score, best.none};
      }
    }
  }
  return best;
}

BOOST_AUTO_TEST_CASE(the_answer_is_the_span_with_the_highest_logits) {
  for (const std::string& type : encoder_types()) {
    if (!answers_questions(type)) continue;
    for (const std::int64_t most : {1, 3, 30}) {
      BOOST_TEST_CONTEXT(type << " " << most) {
        const TinyFolder folder(type, "ForQuestionAnswering");
        const json config = tiny_config(type, class_prefix(type) + "ForQuestionAnswering");
        const bool types = config.value("type_vocab_size", 0) >= 2;
        const Best best = best_span(folder, types, static_cast<std::size_t>(most));
        const auto found = answers(folder.path(), kShort, {.most_tokens = most});
        BOOST_TEST_REQUIRE(found.size() == 1U);
        BOOST_TEST(found[0].begin == best.begin);
        BOOST_TEST(found[0].end == best.end);
        BOOST_TEST(found[0].text == kShort.substr(best.begin, best.end - best.begin));
        BOOST_TEST(std::abs(found[0].score - best.score) < 1e-4);
        // With `no_answer`, the "no answer" option competes with the spans.
        const double above = best.score - best.none;
        BOOST_TEST(
            !answers(folder.path(), kShort, {.most_tokens = most, .no_answer = above - 0.01})[0]
                 .none);
        const auto none =
            answers(folder.path(), kShort, {.most_tokens = most, .no_answer = above + 0.01});
        BOOST_TEST_REQUIRE(none.size() == 1U);
        BOOST_TEST(none[0].none);
        BOOST_TEST(std::abs(none[0].score - best.none) < 1e-4);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(windows_cover_all_tokens_of_a_long_text) {
  const TinyFolder folder("bert", "ForQuestionAnswering");
  const std::string context = long_context();
  // Every token of the context occurs in at least one window, so the single-token answers together
  // cover the context.
  const auto found =
      answers(folder.path(), context, {.most = 1000, .most_tokens = 1, .window = 30, .stride = 8});
  std::size_t pieces = 0;
  for (const Encoding row = folder.tokenizer().encode_text(context, {.add_special = false});
       pieces < row.size();)
    ++pieces;
  BOOST_TEST(found.size() == pieces);
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    sum += found[i].probability;
    BOOST_TEST(found[i].text == context.substr(found[i].begin, found[i].end - found[i].begin));
    if (i > 0) BOOST_TEST(found[i].score <= found[i - 1].score);
  }
  BOOST_TEST(sum <= 1 + 1e-9);
  BOOST_TEST(sum > 0.5);
  // Results do not depend on the other questions in a batch.
  const auto loaded = load_any_model(folder.path());
  // By default, the window settings are those used in training.
  auto& answerer = dynamic_cast<SpanAnswerer&>(*loaded.model);
  answerer.spans = {.window = 30, .stride = 8, .answer_tokens = 1};
  Session trained(*answerer.graph, answerer.store);
  const auto with_trained_windows =
      answer(trained, answerer, {{kQuestion, context}}, {.most = 1000});
  BOOST_TEST_REQUIRE(with_trained_windows[0].size() == found.size());
  BOOST_TEST(with_trained_windows[0][0].score == found[0].score);
  answerer.spans = {};
  Session session(*loaded.model->graph, loaded.model->store);
  const auto both = answer(session, *loaded.model, {{kQuestion, kShort}, {kQuestion, context}}, {});
  BOOST_TEST(both[0][0].text == answers(folder.path(), kShort)[0].text);
  BOOST_TEST(both[1][0].text == answers(folder.path(), context)[0].text);
}

BOOST_AUTO_TEST_CASE(overlong_questions_are_errors_and_empty_texts_have_no_answer) {
  const TinyFolder folder("roberta", "ForQuestionAnswering");
  const auto loaded = load_any_model(folder.path());
  const auto& model = loaded.model;
  Session session(*model->graph, model->store);
  std::string question;
  for (int i = 0; i < 50; ++i) question += "who ";
  check_error_message<TextError>(
      [&] {
        answer(session, *model, {{"who ?", kShort}, {question, kShort}}, {});
      },
      "text 2: it has 53 tokens including special tokens, which leaves no room for the other text "
      "in rows of 39 tokens");
  BOOST_TEST(answer(session, *model, {{"who ?", ""}}, {})[0].empty());
}

BOOST_AUTO_TEST_CASE(a_folder_is_fine_tuned_from_its_own_weights) {
  const std::string questions = R"({"data": [{"paragraphs": [
    {"context": "mary lives in new york .", "qas": [
      {"id": "1", "question": "where is mary brown ?", "answers": [{"text": "new york", "answer_start": 14}]},
      {"id": "2", "question": "who is in town ?", "answers": [{"text": "mary", "answer_start": 0}]}]},
    {"context": "anna was in the river .", "qas": [
      {"id": "3", "question": "where is anna ?", "answers": [{"text": "the river", "answer_start": 12}]},
      {"id": "4", "question": "who is in town ?", "answers": [{"text": "anna", "answer_start": 0}]}]}]}]})";
  for (const std::string type : {"bert", "roberta"}) {
    BOOST_TEST_CONTEXT(type) {
      const TinyFolder folder(type, "ForQuestionAnswering");
      const std::string data = folder.write("train.json", questions);
      const Task& task = *find_task("span-answering");
      TaskArguments args;
      args.options.add("--data", data);
      args.options.add("--validation", data);
      args.training = {{"steps", "200"}, {"batch", "4"}, {"lr", "0.003"}};
      args.model = {{"hidden_dropout", "0"}, {"attention_dropout", "0"}};
      args.from = load_pretrained(folder.path());
      const auto run = task.start(args);
      BOOST_TEST_REQUIRE(run->loaded.has_value());
      auto& model = run->model();
      // The token embeddings, including rows without a token, and the head are loaded from the
      // folder.
      Session before(*model.graph, model.store, {.seed = 3});
      const Question asked{kQuestion, kShort};
      const auto found = answer(before, model, {asked}, {})[0];
      const auto wanted = answers(folder.path(), kShort);
      BOOST_TEST(found[0].text == wanted[0].text);
      BOOST_TEST(std::abs(found[0].score - wanted[0].score) < 1e-4);
      const Evaluation untrained = run->measure(before, model);

      make_trainable(model);
      Session session(*model.graph, model.store, {.seed = 3});
      Trainer trainer(session, run->task(session), {.settings = model.settings});
      const Evaluation trained = trainer.run().evaluation;
      BOOST_TEST(trained.loss < untrained.loss / 4);
      BOOST_TEST(trained.metrics[0].name == "exact_match");
      BOOST_TEST(trained.metrics[0].value == 1);
      const std::string file = folder.beside("tuned.weft");
      save_model(file, model);
      BOOST_TEST(answers(file, "mary lives in new york .")[0].text == "new york");
      // A model in a folder can also be evaluated directly.
      OptionValues values;
      values.add("--test", data);
      const auto opened = task.open(load_any_model(folder.path()).model, values);
      Session own(*opened->model().graph, opened->model().store);
      BOOST_TEST(std::abs(opened->measure(own, opened->model()).loss - untrained.loss) < 1e-4);
    }
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
