// Pre-trains a small GPT on statements, then fine-tunes it on instructions with five methods: full
// fine-tuning; adapters on float, int8 or int4 weights (LoRA, QLoRA); and full fine-tuning with a
// loss that includes the questions. Evaluates the models on phrasings and arguments that are not in
// the training data.
//
//   zoo_instructions [--quick]       --quick: only a few steps per training run
//   zoo_instructions --write FOLDER  only writes the data, for use with weft train
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/weights/quantize.h"
#include "weft/models/tasks/next_token/instructions.h"
#include "weft/models/tasks/next_token/presets.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/text/chat/marks.h"
#include "weft/models/text/tokenizers/train/new_tokenizer.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weights.h"
#include "weft/models/zoo/data/answer_table.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/instruction_tuning_data.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;
using namespace weft::zoo;

namespace {

struct TuningMethod {
  std::string name;
  bool adapters = false;
  std::optional<WeightFormat> weights = {};
  InstructionLoss loss = InstructionLoss::answers;
};

void train(Session& session, const TrainTask& task, TrainSettings settings) {
  PrintProgress progress(500);
  Trainer(session, task, {.settings = settings, .observer = &progress}).run();
}

/// Disables evaluation during training and, if `quick`, limits training to a few steps.
TrainSettings prepare_settings(TrainSettings settings, bool quick) {
  settings.eval_every = 0;
  if (quick) settings.steps = 4, settings.warmup = 1;
  return settings;
}

/// Pre-trains a byte-level decoder. The special tokens of the chat format are in the vocabulary,
/// but do not occur in the text.
LanguageModel read_book(const std::string& book, const ChatFormat& format, bool quick) {
  const std::vector<std::string> marks = marks_of(format), texts = {book};
  TextList list(texts);
  Workers workers;
  const Tokenizer tokenizer =
      train_tokenizer(list, {.vocab = 256 + std::ssize(marks), .special_tokens = marks}, workers);
  GptConfig config = find_preset(instruction_presets(), "instruct-cpu").model;
  config.vocab = tokenizer.vocab_size();
  const TrainSettings settings = prepare_settings(
      {.steps = 4000, .batch = 4, .lr = 2e-3, .min_lr = 2e-4, .precision = Precision::medium},
      quick);
  LanguageModel model = trainable(build_language_model(config, tokenizer, settings));
  Session session(*model.graph, model.store, {.seed = settings.seed});
  const TextData ids(tokenizer.encode(book), 0.01);
  train(session, text_task(session, model, ids, config.context), settings);
  return model;
}

/// Returns a chat model that is initialised with the weights of `reader` and prepared for
/// fine-tuning with the given method.
LanguageModel make_chat_model(const LanguageModel& reader, const ChatFormat& format,
                              const TuningMethod& method, bool quick) {
  const auto& preset =
      find_preset(instruction_presets(), method.adapters ? "instruct-cpu-lora" : "instruct-cpu");
  LanguageModel model = build_instructed_model(reader.config, reader.tokenizer, format,
                                               prepare_settings(preset.training, quick));
  load_weights(*model.store, *model.graph, weights_of(*reader.graph, *reader.store), "the reader");
  if (method.weights) {
    const QuantizedModel small =
        quantize(model.all_programs(), *model.store, {.weights = *method.weights});
    model.replace_programs(small.graph, small.programs);
    model.store = small.store;
  }
  if (method.adapters) add_adapters(model, {.rank = 16, .alpha = 32});
  make_trainable(model);
  return model;
}

void run(bool quick) {
  const InstructionTuningData data(quick);
  const ChatFormat format = ChatFormat::built_in("chatml");
  fmt::print("pre-training on {} bytes\n", data.book.size());
  const LanguageModel reader = read_book(data.book, format, quick);

  AnswerTable table;
  const std::vector<TuningMethod> methods = {{"all weights"},
                                             {"LoRA", true},
                                             {"QLoRA int8", true, WeightFormat::int8},
                                             {"QLoRA int4", true, WeightFormat::int4},
                                             {"loss on all", false, {}, InstructionLoss::all}};
  for (const TuningMethod& method : methods) {
    fmt::print("{}\n", method.name);
    LanguageModel model = make_chat_model(reader, format, method, quick);
    const InstructionData rows(model, conversations(data.learned), {}, method.loss);
    Session session(*model.graph, model.store, {.seed = model.settings.seed});
    const auto measure = [&](const std::string& column) {
      const auto asked = answer_instructions(session, model, conversations(data.asked));
      const auto known = answer_instructions(session, model, conversations(data.known));
      table.add(column, data.asked, asked.answers, data.known, known.answers);
      fmt::print("  {}: exact match {:.1f}% in new phrasings, {:.1f}% in known phrasings\n", column,
                 100 * asked.exact_match(), 100 * known.exact_match());
    };
    session.initialise();
    if (&method == &methods.front()) measure("before");
    train(session, instruction_task(session, model, rows), model.settings);
    measure(method.name);
    if (&method == &methods.front()) save_model("instructions.weft", model);
  }
  fmt::print("\n{}", table.text());

  // The file contains the model and its chat format, so loading it requires none of the code above.
  const auto loaded = load_model<LanguageModel>("instructions.weft");
  Session session(*loaded.graph, loaded.store);
  for (const char* question : {"Please write weft in upper case.", "What is the sum of 9 and 4?"})
    fmt::print("{} -> {}\n", question,
               instruction_answers(session, loaded, {{{"user", question}}}).front());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view option = argc > 1 ? argv[1] : "";
  const bool quick = option == "--quick" && argc == 2, writes = option == "--write" && argc == 3;
  if (argc > 1 && !quick && !writes) {
    fmt::print(stderr, "usage: zoo_instructions [--quick | --write FOLDER]\n");
    return 2;
  }
  return exit_code("instructions",
                   [&] { writes ? InstructionTuningData().write(argv[2]) : run(quick); });
}
