
#include <cmath>
#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/task_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct EvaluateArguments {
  ModelPath file;
  OptionValues values;
  Execution execution;
};

int run(const EvaluateArguments& args, const World& world) {
  const Task* task = nullptr;
  std::unique_ptr<TaskRun> run;
  on_all_ranks(world, [&] {
    require_data(args.values);
    LoadedModel loaded = load_any_model(args.file);
    for (const std::string& note : loaded.notes) print_stderr("note: {}\n", note);
    task = &loaded.task;
    check_data_options(*task, args.values, args.file);
    run = rethrow_as_usage([&] { return task->open(std::move(loaded.model), args.values); });
  });
  const TrainedModel& measured = run->model();
  Session session(*measured.graph, measured.store,
                  session_options(measured, session_options(args.execution, world)));
  if (!task->info().perplexity) {
    say("{}", run->measure_report(session, measured));
    return 0;
  }
  const Evaluation found = run->measure(session, measured);
  const double loss = require_finite(found.loss, "the validation loss");
  for (const Metric& metric : found.metrics) {
    if (metric.name != "perplexity") say("{} {:.5f}\n", metric.name, metric.value);
  }
  say("validation loss {:.5f}, perplexity {:.4f}\n", loss,
      require_finite(std::exp(loss), "the perplexity"));
  return 0;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  OptionList options(app, "evaluate",
                     "Evaluate a trained model on data that was held out during training");
  const auto args = std::make_shared<EvaluateArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train or weft quantize, or a GGUF file")
      .required();
  add_data_options(options, args->values);
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run(*args, world); });
}

}  // namespace weft::program
