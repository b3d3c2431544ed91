#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/task_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

struct QuantizeArguments {
  ModelPath file;
  std::string out;
  WeightFormat weights = WeightFormat::int8;
  std::vector<std::string> only;
  bool narrow_caches = false, force = false;
  OptionValues values;  // options that specify the training data
  int threads = 0;
};

/// Returns the size of a file, or the total size of all files in a folder.
double bytes_on_disk(const std::string& path) {
  if (gguf::is_gguf(path)) return static_cast<double>(std::filesystem::file_size(path));
  if (!std::filesystem::is_directory(path)) return static_cast<double>(checkpoint_bytes(path));
  double bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    bytes += entry.is_regular_file() ? static_cast<double>(entry.file_size()) : 0;
  return bytes;
}

void print_sizes(const VariableStore& before, const VariableStore& after,
                 const QuantizedModel& made, const QuantizeArguments& args) {
  double converted_before = 0, converted_after = 0;
  for (const ConvertedWeight& w : made.weights) {
    converted_before += static_cast<double>(w.bytes_before);
    converted_after += static_cast<double>(w.bytes_after);
  }
  say("matrices  {} as {}: {} -> {}\n", made.weights.size(), weight_format_name(args.weights),
      short_bytes(converted_before), short_bytes(converted_after));
  if (made.narrow_caches > 0) say("caches    {} key/value caches as bf16\n", made.narrow_caches);
  say("variables {} -> {} (without training state)\n",
      short_bytes(static_cast<double>(before.bytes())),
      short_bytes(static_cast<double>(after.bytes())));
  say("files     {} {} -> {} {}\n", args.file.path, short_bytes(bytes_on_disk(args.file)), args.out,
      short_bytes(bytes_on_disk(args.out)));
}

/// Prints the effect of quantisation: the change in perplexity for an autoregressive model, or the
/// change in metrics for any other model.
void print_change(const Evaluation& before, const Evaluation& after, bool perplexity) {
  for (const Evaluation* found : {&before, &after}) {
    require_finite(perplexity ? std::exp(found->loss) : found->loss,
                   perplexity ? "the perplexity" : "the loss");
    for (const Metric& metric : found->metrics) require_finite(metric.value, metric.name);
  }
  if (perplexity) {
    say("perplexity {:.4f} -> {:.4f} ({:+.2f}%), validation loss {:.5f} -> {:.5f}\n",
        std::exp(before.loss), std::exp(after.loss), 100 * (std::exp(after.loss - before.loss) - 1),
        before.loss, after.loss);
    return;
  }
  say("held out  loss {:.5f} -> {:.5f}", before.loss, after.loss);
  for (std::size_t i = 0; i < before.metrics.size(); ++i) {
    say(", {} {:.4f} -> {:.4f}", before.metrics[i].name, before.metrics[i].value,
        after.metrics[i].value);
  }
  say("\n");
}

/// Returns a copy of the model with converted weights and without the training step.
std::unique_ptr<TrainedModel> converted(const TrainedModel& before, const QuantizeArguments& args,
                                        QuantizedModel& made) {
  before.check();  // a file without a tokenizer could not be read
  QuantizeOptions options{.weights = args.weights, .narrow_caches = args.narrow_caches};
  if (!args.only.empty()) options.patterns = args.only;
  auto after = without_training(before);
  const bool convertible =
      !weight_matrices(*before.graph, before.all_programs(), {.embeddings = true, .stacks = true})
           .empty();
  if (!convertible && is_quantized(*before.graph)) {
    throw UsageError(
        fmt::format("the weights of {} are quantised already: quantise the file that it was made "
                    "from",
                    args.file.path));
  }
  options.patterns = quantized_patterns(*after, options.patterns);
  made = quantize(after->all_programs(), *before.store, options);
  if (args.narrow_caches && made.narrow_caches == 0)
    throw UsageError(fmt::format("--caches bf16: {} has no key/value caches", args.file.path));
  after->replace_programs(made.graph, made.programs);
  after->store = made.store;
  // A number that is out of range for the new format becomes infinite.
  check_finite(*after->store,
               fmt::format("{} as {}", args.file.path, weight_format_name(args.weights)));
  return after;
}

/// Evaluates both models on the data that was held out during training.
void compare(const Task& task, const TrainedModel& before, const TrainedModel& after,
             const QuantizeArguments& args) {
  const std::unique_ptr<TaskRun> run =
      rethrow_as_usage([&] { return task.open(before.clone(), args.values); });
  const auto measured = [&](const TrainedModel& model) {
    Session session(*model.graph, model.store, session_options(model, {.threads = args.threads}));
    return run->measure(session, model);
  };
  print_change(measured(before), measured(after), task.info().perplexity);
}

int run(const QuantizeArguments& args, CommandPaths paths) {
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::inference);
  ModelPath file = args.file;
  file.widen = true;
  const LoadedModel loaded = load_any_model(file);
  const auto& [task, before, notes] = loaded;
  for (const std::string& note : notes) say("note      {}\n", note);
  if (args.values.given()) check_data_options(task, args.values, args.file);
  QuantizedModel made;
  const auto after = converted(*before, args, made);
  save_model(out.path(), *after);
  print_sizes(*before->store, *after->store, made, args);
  if (args.values.given()) compare(task, *before, *after, args);
  return 0;
}

}  // namespace

void add_quantize_command(CLI::App& app, Action& action) {
  OptionList options(app, "quantize", "Quantise the weights of a trained model");
  const auto args = std::make_shared<QuantizeArguments>();
  options.input("file", args->file, "a .weft file, a Hugging Face folder or a GGUF file")
      .required();
  options
      .output("--out", args->out,
              "inference-only file to write (.weft); adapters can be trained on top of its weights")
      .required();
  options.flag(
      "--force", args->force,
      "replace an existing file with this name even if it is of another type or a trainable model");
  options.choice(
      "--weights", {"bf16", "int8", "q8_0", "int4"},
      [args](const std::string& name) { args->weights = parse_weight_format(name); },
      "format of the matrices (default: int8)");
  options.choice(
      "--caches", {"f32", "bf16"},
      [args](const std::string& name) { args->narrow_caches = name == "bf16"; },
      "format of the key/value caches during generation (default: f32)");
  options.texts("--only", args->only, OptionList::Times::list,
                "convert only matrices whose names match these patterns (*, ?)");
  add_data_options(options, args->values);
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
