// Commands that run a model on texts and print a result for each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {

/// Prints the notes of a loaded model on stderr and returns the model.
inline std::unique_ptr<TrainedModel> model_of(LoadedModel loaded) {
  for (const std::string& note : loaded.notes) print_stderr("note: {}\n", note);
  return std::move(loaded.model);
}

/// Returns the options of a session on one of the ranks of `world`.
inline SessionOptions session_options(const Execution& execution, const World& world = {}) {
  return {.threads = threads_of_rank(world, execution.threads),
          .batch_invariant = execution.batch_invariant,
          .trace = execution.trace,
          .world = world};
}

/// A model that was loaded for an inference task, and a session that runs it. Must be constructed
/// on every rank. Throws the same errors as load_model_for() and on_all_ranks().
struct ModelSession {
  ModelSession(Use use, const ModelPath& path, const Execution& execution, const World& world)
      : model(on_all_ranks(world, [&] { return model_of(load_model_for(use, path)); })),
        session(*model->graph, model->store,
                session_options(*model, session_options(execution, world))) {}

  std::unique_ptr<TrainedModel> model;
  Session session;
};

/// The arguments that commands with texts have in common.
struct TextArguments {
  ModelPath file;
  TextInputs texts;
  TruncateOption truncate;
  bool json = false;
  Execution execution;
};

/// Reads the texts, loads the model, and calls infer(session, model, texts), which returns one
/// result per text, and then print(text, result) for every text. Reports truncated texts and, if
/// the texts come from a file or stdin, the throughput in `unit`. Returns the exit code.
template <class Infer, class Print>
int run_on_texts(TextArguments& args, Use use, std::string_view unit, const World& world,
                 Infer&& infer, Print&& print) {
  const std::vector<std::string> texts = args.texts.read(world);
  ModelSession opened(use, args.file, args.execution, world);
  const SpeedReport speed;
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const auto results =
      with_places(place, [&] { return infer(opened.session, *opened.model, texts); });
  for (std::size_t i = 0; i < texts.size(); ++i) print(texts[i], results[i]);
  args.truncate.report(place, "the first");
  if (args.texts.many()) speed.done(unit, std::ssize(texts));
  return 0;
}

}  // namespace weft::program
