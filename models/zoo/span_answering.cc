// Trains an encoder from scratch to find answers to questions in synthetic texts about people.
//
//   zoo_span_answering [OUT_FOLDER [quick]]
//
// Writes the model, and the training and test sets as SQuAD JSON files, which weft train and other
// programs can read. With "quick", runs a smoke test that takes a few seconds.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "weft/models/data/formats/fact_questions.h"
#include "weft/models/tasks/span_answering/presets.h"
#include "weft/models/tasks/span_answering/span_training.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

namespace {

void measure(Session& session, const SpanAnswerer& model, const SquadData& test, const char* when) {
  const SquadScores found = score_spans(session, model, test).answers;
  fmt::print("{} training: exact match {:.4f}, F1 {:.4f} on {} held-out questions\n", when,
             found.exact_match(), found.f1(), found.questions());
  std::fflush(stdout);
}

void run(const std::filesystem::path& out, bool quick) {
  // 1. Data: each text contains facts about three people, and each question is about one of them.
  const SquadData train = fact_questions(quick ? 100 : 10'000, 1),
                  validation = fact_questions(quick ? 10 : 100, 2),
                  test = fact_questions(quick ? 20 : 500, 3);
  write_squad(out / "facts.train.json", train);
  write_squad(out / "facts.test.json", test);

  // 2. Model: three layers of width 64 over subwords. A fact is close to the name of the person,
  // and relative keys (Shaw et al. 2018) learn this with less training than absolute positions.
  const auto& preset = find_preset(span_answerer_presets(), "bert-mini");
  const auto pieces = SentencePieceTokenizer::train(train.texts(), {.vocab = 400});
  EncoderConfig config = preset.model;
  config.vocab = pieces.vocab_size();
  config.padding_id = pieces.pad_id();
  config.width = 64;
  config.inner = 256;
  config.norm_first = true;
  config.positions = EncoderPositions::relative_key;
  config.trainable_positions = false;  // absolute positions are not used
  TrainSettings settings = preset.training;
  settings.batch = 64;
  settings.lr = 3e-3;
  if (quick) settings.steps = 30, settings.warmup = 3, settings.eval_every = 0;
  SpanAnswerer model =
      trainable(build_span_answerer(config, pieces, {.answer_tokens = 8}, settings));
  Session session(*model.graph, model.store, {.seed = settings.seed});
  session.initialise();

  // 3. Training, with evaluations on the test set before and after.
  measure(session, model, test, "before");
  const SpanRows rows = span_rows(model, train);
  zoo::PrintProgress progress;
  Trainer trainer(session, span_answering_task(session, model, rows, validation),
                  {.settings = settings, .observer = &progress});
  trainer.run();
  measure(session, model, test, "after");

  // 4. The file contains the whole model, so loading it requires none of the code above.
  model.history = trainer.history();
  const std::string file = out / "span_answering.weft";
  save_model(file, model);
  const SpanAnswerer loaded = load_model<SpanAnswerer>(file);
  Session fresh(*loaded.graph, loaded.store);
  const std::string text =
      "Rosa Holm lives in Porto. By trade Sven Berg is a tailor. Sven Berg has a house in Riga.";
  const std::vector<Question> asked = {{"In which town does Sven Berg live?", text},
                                       {"Who lives in Porto?", text}};
  const auto answers = answer(fresh, loaded, asked);
  for (std::size_t i = 0; i < asked.size(); ++i)
    fmt::print("{} {}\n", asked[i].question, answers[i].front().text);
  fmt::print("wrote {}, facts.train.json, facts.test.json\n", file);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc == 3 && std::string_view(argv[2]) == "quick";
  if (argc > 3 || (argc == 3 && !quick)) {
    fmt::print(stderr, "usage: zoo_span_answering [OUT_FOLDER [quick]]\n");
    return 2;
  }
  return zoo::exit_code("span_answering", [&] { run(argc > 1 ? argv[1] : ".", quick); });
}
