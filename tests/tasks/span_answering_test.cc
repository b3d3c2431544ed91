// Extractive question answering: reading question files, metrics compared with values computed by
// hand, and training.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "small_encoder.h"
#include "weft/core/error.h"
#include "weft/models/data/formats/fact_questions.h"
#include "weft/models/data/formats/squad.h"
#include "weft/models/metrics/squad_f1.h"
#include "weft/models/tasks/span_answering/span_training.h"
#include "weft/models/tasks/span_answering/span_windows.h"
#include "weft/models/training/trainable.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(span_answering)
namespace {

using nlohmann::json;

/// Returns a SQuAD file with one paragraph.
std::string squad(const json& context, const json& questions) {
  const json paragraph = {{"context", context}, {"qas", questions}};
  return json{{"version", "1.1"}, {"data", {{{"paragraphs", {paragraph}}}}}}.dump();
}
json question(const std::string& id, const json& answers) {
  return {{"id", id}, {"question", "where ?"}, {"answers", answers}};
}
json answer_at(const std::string& text, const json& start) {
  return {{"text", text}, {"answer_start", start}};
}

void ask(SquadData& data, const std::string& question, const std::string& answer) {
  SquadQuestion squad_question{
      "q" + std::to_string(data.size()), question, data.contexts.size() - 1, {}};
  if (!answer.empty()) squad_question.answers = {{answer, data.contexts.back().find(answer)}};
  data.questions.push_back(std::move(squad_question));
}

/// Returns texts that state where a person lives and what that person likes. Each text answers
/// three of its questions, but not the fourth, which is about the time.
SquadData facts(int count, int first = 0) {
  const Texts names = {"anna", "bob", "carl", "dora", "emil", "fred"},
              places = {"york", "new rome", "oslo", "old bonn", "lima", "kiel", "riga"},
              tastes = {"tea", "hot soup", "figs", "rice", "red plums"};
  SquadData data;
  for (int i = first; i < first + count; ++i) {
    const auto pick = [&](const Texts& words, int n) {
      return words[static_cast<std::size_t>(n) % words.size()];
    };
    const std::string name = pick(names, i), place = pick(places, 5 * i + i / 6),
                      taste = pick(tastes, i / 2 + i / 7);
    data.contexts.push_back(i % 2 == 0
                                ? name + " lives in " + place + " and likes " + taste + " ."
                                : "in " + place + " " + taste + " is what " + name + " likes .");
    ask(data, "where does " + name + " live ?", place);
    ask(data, "what is it that " + name + " likes ?", taste);
    ask(data, "who is it ?", name);
    ask(data, "when was that ?", "");
  }
  return data;
}

SpanAnswerer new_model(const SquadData& data, std::int64_t steps, const SpanReading& spans = {}) {
  const auto pieces =
      SentencePieceTokenizer::train(data.texts(), {.vocab = 130, .character_coverage = 1});
  EncoderConfig config = small();
  config.vocab = pieces.vocab_size();
  config.padding_id = pieces.pad_id();
  config.context = 48;
  config.token_types = 2;
  config.width = 32;
  config.inner = 64;
  config.hidden_dropout = 0;
  TrainSettings training = settings(steps);
  training.batch = 24;
  training.lr = 3e-3;
  training.warmup = steps / 30;
  training.eval_every = 0;
  SpanAnswerer model = build_span_answerer(config, pieces, spans, training);
  make_trainable(model);
  return model;
}

TrainOutcome run(SpanAnswerer& model, const SquadData& data, const SquadData& held_out,
                 std::int64_t stop_after = 0, int threads = 1) {
  const SpanRows rows = span_rows(model, data);
  Session session(*model.graph, model.store, {.seed = model.settings.seed, .threads = threads});
  Trainer trainer(session, span_answering_task(session, model, rows, held_out),
                  {.settings = model.settings,
                   .history = model.history,
                   .save = [&](const TrainHistory& history) { model.history = history; },
                   .stop_after = stop_after});
  return trainer.run();
}

double metric(const Evaluation& found, std::string_view name) {
  for (const Metric& m : found.metrics) {
    if (m.name == name) return m.value;
  }
  return NAN;
}

BOOST_AUTO_TEST_CASE(answers_are_compared_without_case_punctuation_and_articles) {
  BOOST_TEST(normalised_answer("The  Eiffel-Tower,\tin\u00A0Paris!") == "eiffeltower in paris");
  BOOST_TEST(normalised_answer("a an the THE A.") == "");
  // Only whole words are removed as articles. Punctuation is removed first, so "a-b" becomes "ab".
  BOOST_TEST(normalised_answer("theory an-a A\u2013a") == "theory ana \u2013");
  BOOST_TEST(normalised_answer("\u00C9cole $5_0") == "\u00E9cole 50");
}

BOOST_AUTO_TEST_CASE(exact_match_and_f1_match_values_computed_by_hand) {
  const auto close = boost::test_tools::tolerance(1e-12);
  const auto score = [](const std::string& found, const Texts& answers) {
    return score_answer(found, answers);
  };
  BOOST_TEST(score("the New York.", {"new york"}).exact == 1);
  BOOST_TEST(score("the New York.", {"new york"}).f1 == 1);
  // The precision is 2/3 ("old" and "red" of 3 words) and the recall is 2/4.
  BOOST_TEST(score("old red house", {"red brick old barn"}).exact == 0);
  BOOST_TEST(score("old red house", {"red brick old barn"}).f1 == 4.0 / 7, close);
  // A repeated word is matched as often as it occurs in both texts: the precision is 1/3 and the
  // recall 1/2.
  BOOST_TEST(score("go go go", {"go home"}).f1 == 0.4, close);
  // Each metric is the maximum over the reference answers.
  BOOST_TEST(score("in york", {"york", "rome", "in york"}).exact == 1);
  BOOST_TEST(score("in york", {"york", "rome"}).f1 == 2.0 / 3, close);
  BOOST_TEST(score("bonn", {"york", "rome"}).f1 == 0);
  // For questions without an answer, both metrics are 0 or 1.
  BOOST_TEST(score("", {}).f1 == 1);
  BOOST_TEST(score("", {}).exact == 1);
  BOOST_TEST(score("york", {}).f1 == 0);
  BOOST_TEST(score("", {"york"}).f1 == 0);
  BOOST_TEST(score("", {"the", "york"}).exact == 0);
  BOOST_TEST(score("", {"the"}).exact == 1);
  SquadScores scores;
  BOOST_TEST(scores.f1() == 0);
  scores.add("in york", Texts{"york"});
  scores.add("rome", Texts{"rome"});
  scores.add("rome", {});
  BOOST_TEST(scores.questions() == 3);
  BOOST_TEST(scores.exact_match() == 1.0 / 3, close);
  BOOST_TEST(scores.f1() == 5.0 / 9, close);
}

BOOST_AUTO_TEST_CASE(questions_are_read_with_positions_in_code_points) {
  const TextFiles files("squad");
  json none = question("3", json::array());
  none["is_impossible"] = true;
  none["plausible_answers"] = json::array({answer_at("York", 10)});
  json left_out = {{"id", "4"}, {"question", "when ?"}, {"is_impossible", true}};
  const std::string one = files.write(
      "one.json",
      squad("\u00C9va lives in New York .",
            {question("1", json::array({answer_at("New York", 13), answer_at("York", 17)})),
             question("2", json::array({answer_at("\u00C9va", 0)})), none, left_out}));
  const std::string two = files.write(
      "two.json", squad("so", json::array({question("5", json::array({answer_at("so", 0)}))})));
  const SquadData data = read_squad(Texts{one, two});
  BOOST_TEST(data.contexts == (Texts{"\u00C9va lives in New York .", "so"}),
             boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(data.size() == 5);
  BOOST_TEST(data.unanswered() == 2);
  BOOST_TEST(
      (data.questions[0] == SquadQuestion{"1", "where ?", 0, {{"New York", 14}, {"York", 18}}}));
  BOOST_TEST((data.questions[1].answers == std::vector<SquadAnswer>{{"\u00C9va", 0}}));
  BOOST_TEST(data.questions[2].answers.empty());
  BOOST_TEST(data.questions[3].question == "when ?");
  BOOST_TEST(data.questions[4].context == 1U);
  BOOST_TEST(data.questions[0].answer_texts() == (Texts{"New York", "York"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(written_questions_round_trip) {
  const TextFiles files("squad_written");
  SquadData data = facts(3);
  data.contexts[1] =
      "\u00FCber \u4E2D: " + data.contexts[1];  // these code points take several bytes
  for (SquadQuestion& squad_question : data.questions) {
    for (SquadAnswer& answer : squad_question.answers)
      answer.begin = data.context_of(squad_question).find(answer.text);
  }
  write_squad(files.path("f.json"), data);
  const SquadData read = read_squad(Texts{files.path("f.json")});
  BOOST_TEST(read.contexts == data.contexts, boost::test_tools::per_element());
  BOOST_TEST((read.questions == data.questions));
  BOOST_TEST(read.unanswered() == 3);
  check_error_message<IoError>([&] { write_squad("/nowhere/f", data); }, "/nowhere/f");
}

BOOST_AUTO_TEST_CASE(generated_questions_have_one_answer_and_are_a_function_of_the_seed) {
  const SquadData data = fact_questions(50, 1);
  BOOST_TEST(data.contexts.size() == 50U);
  BOOST_TEST(data.size() == 200);
  std::set<std::string> ids;
  std::size_t people = 0;
  for (const SquadQuestion& squad_question : data.questions) {
    const std::string& context = data.context_of(squad_question);
    BOOST_TEST(std::count(context.begin(), context.end(), '.') == 6);
    BOOST_REQUIRE(squad_question.answers.size() == 1U);
    const SquadAnswer& answer = squad_question.answers.front();
    BOOST_TEST(context.substr(answer.begin, answer.text.size()) == answer.text);
    BOOST_TEST(squad_question.question.ends_with("?"));
    BOOST_TEST(squad_question.question.find(answer.text) == std::string::npos);
    ids.insert(squad_question.id);
    // The name of a person occurs in two facts. All other answers occur once.
    const bool person = std::isupper(answer.text.front()) && contains(answer.text, " ");
    people += person ? 1 : 0;
    if (!person) BOOST_TEST(context.find(answer.text) == context.rfind(answer.text));
  }
  BOOST_TEST(ids.size() == 200U);
  BOOST_TEST(people > 60U);
  BOOST_TEST(people < 140U);
  BOOST_TEST((fact_questions(50, 1).contexts == data.contexts));
  BOOST_TEST((fact_questions(2, 1).contexts[1] == data.contexts[1]));
  const SquadData other = fact_questions(50, 2);
  for (const std::string& context : other.contexts)
    BOOST_TEST(std::count(data.contexts.begin(), data.contexts.end(), context) == 0);
  BOOST_TEST(fact_questions(0, 1).contexts.empty());
  check_error_message<ArgumentError>([] { fact_questions(-1, 1); }, "cannot generate -1 texts");
}

BOOST_AUTO_TEST_CASE(errors_for_invalid_files_state_the_position) {
  const TextFiles files("no_squad");
  const auto read = [&](const std::string& text) {
    return [&files, text] { read_squad(Texts{files.write("f.json", text)}); };
  };
  const auto of_answer = [&](const json& answer) {
    return read(squad("in York", json::array({question("x7", json::array({answer}))})));
  };
  const std::string at = "f.json: data[0].paragraphs[0].qas[0]";
  check_error_message<FormatError>(read("{\"data\": [}"), "f.json");
  check_error_message<FormatError>(read("[]"),
                                   "f.json is not in SQuAD's format: expected an object with");
  check_error_message<FormatError>(read("{\"data\": 3}"), "f.json: data must be a list, not 3");
  check_error_message<FormatError>(read("{\"data\": []}"), "f.json has no questions");
  check_error_message<FormatError>(read("{\"data\": [{}]}"), "f.json: data[0] lacks 'paragraphs'");
  check_error_message<FormatError>(read("{\"data\": [4]}"),
                                   "f.json: data[0] must be an object, not 4");
  check_error_message<FormatError>(read(squad(5, json::array())),
                                   "f.json: data[0].paragraphs[0].context must be a string, not 5");
  check_error_message<FormatError>(read(squad("in York", json::array({{{"id", "x7"}}}))),
                                   at + " lacks 'question'");
  check_error_message<FormatError>(
      read(squad("in York", json::array({question("x7", json::array())}))),
      at + " (id 'x7') has no answers, but is not marked is_impossible");
  json both = question("x7", json::array({answer_at("York", 3)}));
  both["is_impossible"] = true;
  check_error_message<FormatError>(read(squad("in York", json::array({both}))),
                                   at + " (id 'x7') is marked is_impossible, but has answers");
  both["is_impossible"] = "no";
  check_error_message<FormatError>(read(squad("in York", json::array({both}))),
                                   at + ".is_impossible must be true or false, not \"no\"");
  check_error_message<FormatError>(of_answer({{"text", "York"}}),
                                   at + ".answers[0] lacks 'answer_start'");
  check_error_message<FormatError>(of_answer(answer_at("York", -1)),
                                   at + ".answers[0].answer_start must be a non-negative integer");
  check_error_message<FormatError>(of_answer(answer_at("York", 3.0)),
                                   ".answer_start must be a non-negative integer");
  check_error_message<FormatError>(of_answer(answer_at("", 3)),
                                   at + ".answers[0] (id 'x7') is empty");
  check_error_message<FormatError>(
      of_answer(answer_at("York", 2)),
      at + ".answers[0] (id 'x7'): the answer 'York' is not at character 2 of "
           "its context: the text there is ' Yor'");
  check_error_message<FormatError>(of_answer(answer_at("York", 8)), "the context has 7 characters");
  const json twice = question("x7", json::array({answer_at("York", 3)}));
  check_error_message<FormatError>(read(squad("in York", {twice, twice})),
                                   "qas[1]: another question has the id 'x7'");
  check_error_message<IoError>([] { read_squad(Texts{"/nowhere/f"}); }, "/nowhere/f");
}

BOOST_AUTO_TEST_CASE(contexts_are_held_out_together_with_their_questions) {
  const SquadData all = facts(20);
  const SquadSplit split = split_contexts(all, 0.25, 3);
  BOOST_TEST(split.held_out.contexts.size() == 5U);
  BOOST_TEST(split.held_out.size() == 20);
  BOOST_TEST(split.train.size() == 60);
  for (const SquadData* part : {&split.train, &split.held_out}) {
    for (const SquadQuestion& squad_question : part->questions) {
      for (const SquadAnswer& answer : squad_question.answers)
        BOOST_TEST(part->context_of(squad_question).substr(answer.begin).starts_with(answer.text));
    }
  }
  BOOST_TEST((split_contexts(all, 0.25, 3).held_out.contexts == split.held_out.contexts));
  BOOST_TEST((split_contexts(all, 0.25, 4).held_out.contexts != split.held_out.contexts));
  BOOST_TEST(split_contexts(all, 0, 3).held_out.size() == 0);
  BOOST_TEST(split_contexts(facts(1), 0.5, 3).held_out.size() == 0);
  check_error_message<ArgumentError>([&] { split_contexts(all, 1, 3); },
                                     "must be in [0, 1), not 1");
}

BOOST_AUTO_TEST_CASE(windows_without_the_answer_have_cls_targets) {
  SquadData data = facts(4);
  std::string text;
  for (int i = 0; i < 12; ++i) text += "anna is in york . ";
  data.contexts.push_back(text + "bob is in old bonn . " + text);
  ask(data, "where is bob ?", "old bonn");
  ask(data, "when was that ?", "");
  const SpanAnswerer model = new_model(data, 1, {.window = 40, .stride = 10});
  const TextReader reader(model.config, model.tokenizer, model.reading);
  const SquadQuestion& squad_question = data.questions[data.questions.size() - 2];
  const auto windows =
      span_windows(reader, 0, {squad_question.question, data.context_of(squad_question)},
                   {.window = 40, .stride = 10});
  BOOST_TEST(windows.size() > 3U);
  const std::size_t begin = squad_question.answers[0].begin, end = begin + 8;
  const SpanTargets targets = span_targets(windows, begin, end);
  BOOST_TEST(targets.seen);
  int have = 0;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    BOOST_TEST(windows[w].row.ids.size() <= 40U);
    const auto [first, last] = targets.ends[w];
    if (first == 0) {
      BOOST_TEST(last == 0);
      continue;
    }
    ++have;
    const std::size_t from = windows[w].spans[static_cast<std::size_t>(first)].begin,
                      to = windows[w].spans[static_cast<std::size_t>(last)].end;
    const std::string covered = data.context_of(squad_question).substr(from, to - from);
    BOOST_TEST_CONTEXT(covered) {
      BOOST_TEST(contains(covered, "old bonn"));
      BOOST_TEST(covered.size() <= 9U);  // a token may include the preceding space
    }
  }
  BOOST_TEST(have > 0);
  BOOST_TEST(have < std::ssize(windows));
  // If there is no answer, or if the answer is longer than every window, all targets are the [CLS]
  // token.
  BOOST_TEST(!span_targets(windows, 0, 0).seen);
  BOOST_TEST(!span_targets(windows, 0, data.context_of(squad_question).size()).seen);
  const SpanRows rows = span_rows(model, data);
  BOOST_TEST(rows.questions == data.size());
  BOOST_TEST(rows.unseen == 0);
  BOOST_TEST(std::ssize(rows.rows) > data.size());
  data.questions.back().answers = {{data.contexts.back(), 0}};
  BOOST_TEST(span_rows(model, data).unseen == 1);
  data.questions.back().question = text;
  check_error_message<ArgumentError>([&] { span_rows(model, data); },
                                     "the question 'q17': it has 63 tokens");
}

BOOST_AUTO_TEST_CASE(a_small_model_learns_to_answer_and_a_resumed_run_is_bit_exact) {
  const TextFiles files("answers");
  const SquadData data = facts(120), held_out = facts(24, 120);
  SpanAnswerer straight = new_model(data, 500);
  const TrainOutcome whole = run(straight, data, held_out);
  BOOST_TEST(metric(whole.evaluation, "exact_match") > 0.9);
  BOOST_TEST(metric(whole.evaluation, "f1") > 0.9);

  SpanAnswerer first = new_model(data, 500);
  run(first, data, held_out, 137, 2);
  save_model(files.path("a.weft"), first);
  auto second = load_model<SpanAnswerer>(files.path("a.weft"));
  BOOST_TEST((second.spans == first.spans));
  run(second, data, held_out, 0, 3);
  check_same_weights(straight, second);

  // The evaluation predicts the same answers as answer().
  Session session(*second.graph, second.store);
  const SpanAnsweringScores scores = score_spans(session, second, held_out);
  BOOST_TEST(scores.loss == whole.evaluation.loss, boost::test_tools::tolerance(1e-6));
  for (std::size_t i = 0; i < 6; ++i) {
    const SquadQuestion& squad_question = held_out.questions[i];
    const Question question{squad_question.question, held_out.context_of(squad_question)};
    const auto found =
        answer(session, second, std::vector<Question>{question}, {.no_answer = 0})[0];
    BOOST_TEST(found[0].text == scores.found[i].text);
    BOOST_TEST(found[0].none == scores.found[i].none);
  }
  BOOST_TEST(contains(format_answers(session, second, held_out, 3), " ?  '"));
  // To save time, periodic evaluations use a limited number of questions, which are evenly spaced.
  BOOST_TEST(score_spans(session, second, held_out, 7).answers.questions() == 7);
  check_error_message<DataError>([&] { score_spans(session, second, {}); },
                                 "no questions to evaluate on");
}

BOOST_AUTO_TEST_CASE(weft_trains_and_evaluates_answering_models) {
  const Shell weft;
  const std::string places = std::string(WEFT_FIXTURES) + "/squad/places.json",
                    model = weft.path("m.weft"), text = weft.write("context", "anna is in york .");
  const std::string start =
      "train encoder --task answer --vocab 60 --layers 1 --heads 2 --width 16 --inner 32 "
      "--context 32 --steps 4 --batch 4 --threads 1 --out " +
      model;
  const Outcome made = weft(start + " --data " + places + " --test " + places);
  BOOST_TEST(made.code == 0, made.err);
  BOOST_TEST(
      contains(made.out,
               "22 questions about 9 texts for training (4 without an answer), 2 for validation, "),
      made.out);
  BOOST_TEST(contains(made.out, "\nwindows   22 of at most 32 tokens\n"), made.out);
  BOOST_TEST(contains(made.out, "\ntest      loss "), made.out);
  BOOST_TEST(contains(made.out, "\nwho ?  '"), made.out);
  BOOST_TEST(contains(made.out, ", expected 'anna'\n"), made.out);
  const Outcome measured = weft("evaluate " + model + " --test " + places);
  BOOST_TEST(measured.code == 0, measured.err);
  BOOST_TEST(contains(measured.out, " on 24 questions\n"));
  BOOST_TEST(contains(made.out, measured.out), measured.out);
  BOOST_TEST(contains(weft("evaluate " + model + " --data " + places).out, "held out  loss "));
  const Outcome answered =
      weft("answer " + model + " --question 'where ?' --context " + text + " --json");
  BOOST_TEST(answered.code == 0, answered.err);
  BOOST_TEST(contains(answered.out, "\"question\":\"where ?\""), answered.out);
  BOOST_TEST(weft("embed " + model + " anna --out " + weft.path("v.npy")).code == 0);

  check_error(weft(start), 2, "--data is required: JSON files in SQuAD format");
  check_error(weft("train encoder --task answer --resume " + model + " --test " + places), 2,
              "--data is required");
  check_error(
      weft(start + " --data " + places + " --validation " + places + " --validation-fraction 0.1"),
      2, "--validation-fraction applies only without --validation");
  check_error(weft(start + " --data " + weft.path("text.txt")), 1, "text.txt");
  check_error(weft(start + " --data " + places + " --window 2"), 2, "window");
  check_error(
      weft("train encoder --task answer --resume " + model + " --data " + places + " --window 20"),
      2, "--window cannot be given with --resume");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
