#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands/calibration_data.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/task_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/quantize_model.h"
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
  CacheFormat caches = CacheFormat::f32;
  bool force = false;
  ActivationFormat activations = ActivationFormat::none;
  bool static_scales = false, activation_aware = false;
  std::vector<std::string> keep;
  std::string calibrate, report;
  std::optional<std::int64_t> lines;
  std::optional<double> percentile, max_loss_increase;
  OptionValues values;  // options that specify the training data
  int threads = 0;

  std::string format() const {
    return fmt::format("{}{}", weight_format_name(weights),
                       activations == ActivationFormat::int8 ? " with int8 activations" : "");
  }
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
  say("matrices  {} as {}: {} -> {}\n", made.weights.size(), args.format(),
      short_bytes(converted_before), short_bytes(converted_after));
  if (made.narrow_caches > 0)
    say("caches    {} key/value caches as {}\n", made.narrow_caches,
        cache_format_name(args.caches));
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

/// Evaluates a model. The model may be another one than that of the run.
Evaluation measured(TaskRun& run, const TrainedModel& model, int threads) {
  Session session(*model.graph, model.store, session_options(model, {.threads = threads}));
  return run.measure(session, model);
}

/// Throws UsageError for options that would have no effect.
void check_options(const QuantizeArguments& args) {
  const bool rounded = args.activations == ActivationFormat::int8;
  if (rounded && args.weights == WeightFormat::bf16)
    throw UsageError("--activations int8 requires --weights int8, q8_0 or int4");
  if (args.static_scales && !rounded)
    throw UsageError("--activation-scales static requires --activations int8");
  if (args.percentile && !args.static_scales)
    throw UsageError("--activation-percentile requires --activation-scales static");
  if (args.activation_aware && args.weights != WeightFormat::int4)
    throw UsageError("--activation-aware is for 4-bit weights: --weights int4");
  const std::pair<bool, const char*> measures[] = {
      {args.static_scales, "--activation-scales static"},
      {args.activation_aware, "--activation-aware"},
      {args.max_loss_increase.has_value(), "--max-loss-increase"}};
  bool any = !args.report.empty();
  for (const auto& [given, option] : measures) {
    any |= given;
    if (given && args.calibrate.empty())
      throw UsageError(fmt::format("{} requires data: --calibrate FILE", option));
  }
  if (args.calibrate.empty() && args.lines)
    throw UsageError("--calibration-lines is the number of lines that --calibrate reads");
  if (!args.calibrate.empty() && !any) {
    throw UsageError(
        "--calibrate has no effect without --activation-scales static, --activation-aware, "
        "--max-loss-increase or --report");
  }
  if (args.max_loss_increase && args.weights == WeightFormat::bf16)
    throw UsageError("--max-loss-increase keeps matrices in bf16: choose other --weights");
}

/// Returns a copy of the model with converted weights and without the training step.
QuantizedTrainedModel converted(const TrainedModel& before, const QuantizeArguments& args,
                                const MeasureModel& measure) {
  before.check();  // a file without a tokenizer could not be read
  const auto forward = without_training(before);
  const bool convertible =
      !weight_matrices(*before.graph, before.all_programs(), {.embeddings = true, .stacks = true})
           .empty();
  if (!convertible && is_quantized(*before.graph)) {
    throw UsageError(
        fmt::format("the weights of {} are quantised already: quantise the file that it was made "
                    "from",
                    args.file.path));
  }
  QuantizeOptions options{.weights = args.weights,
                          .activations = args.activations,
                          .keep = args.keep,
                          .caches = args.caches};
  if (!args.only.empty()) options.patterns = args.only;
  options.patterns = quantized_patterns(*forward, options.patterns);
  QuantizedTrainedModel result = quantize_model(before,
                                                {.weights = options,
                                                 .static_scales = args.static_scales,
                                                 .activation_percentile = args.percentile,
                                                 .activation_aware = args.activation_aware,
                                                 .max_loss_increase = args.max_loss_increase,
                                                 .measure_errors = !args.report.empty()},
                                                measure);
  if (args.caches != CacheFormat::f32 && result.made.narrow_caches == 0) {
    throw UsageError(fmt::format("--caches {}: {} has no key/value caches",
                                 cache_format_name(args.caches), args.file.path));
  }
  // A number that is out of range for the new format becomes infinite.
  check_finite(*result.model->store,
               fmt::format("{} as {}", args.file.path, weight_format_name(args.weights)));
  return result;
}

/// Prints which matrices differ from the requested format, and the effect on the calibration data.
void print_report(const QuantizedTrainedModel& result, const QuantizeArguments& args) {
  const QuantizationReport& report = result.report;
  if (!result.scaled.empty()) {
    std::size_t matrices = 0;
    double before = 0, after = 0;
    for (const ScaledMatrices& group : result.scaled) {
      matrices += group.alpha > 0 ? group.matrices.size() : 0;
      before += group.error_before;
      after += group.error_after;
    }
    say("scaled    {} matrices by their inputs, estimated squared error {:+.1f}%\n", matrices,
        before > 0 ? 100 * (after / before - 1) : 0);
  }
  std::vector<std::string> kept;
  std::size_t fixed = 0, rounded = 0;
  for (const MatrixReport& matrix : report.matrices) {
    if (matrix.weights != args.weights) kept.push_back(matrix.name);
    rounded += matrix.activations == ActivationFormat::int8 ? 1 : 0;
    fixed += matrix.activation_scale ? 1 : 0;
  }
  if (args.activations == ActivationFormat::int8)
    say("inputs    of {} matrices as int8, {} of them with static scales{}\n", rounded, fixed,
        args.percentile ? fmt::format(" for {:g}% of the magnitudes", *args.percentile) : "");
  if (!kept.empty()) say("kept      {} matrices as bf16: {}\n", kept.size(), fmt::join(kept, ", "));
  if (report.loss_before && report.loss_after) {
    say("bound     calibration loss {:.5f} -> {:.5f}\n", *report.loss_before, *report.loss_after);
  }
  if (!args.report.empty()) say("{}", report.table());
}

/// Evaluates both models on the data that was held out during training.
void compare(const Task& task, const TrainedModel& before, const TrainedModel& after,
             const QuantizeArguments& args) {
  const std::unique_ptr<TaskRun> run =
      rethrow_as_usage([&] { return task.open(before.clone(), args.values); });
  print_change(measured(*run, before, args.threads), measured(*run, after, args.threads),
               task.info().perplexity);
}

int run(const QuantizeArguments& args, CommandPaths paths) {
  check_options(args);
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::inference);
  std::optional<OutputFile> report;
  if (!args.report.empty()) report = paths.plan_file("--report", args.report, FileKind::report);
  ModelPath file = args.file;
  file.widen = true;
  const LoadedModel loaded = load_any_model(file);
  const auto& [task, before, notes] = loaded;
  for (const std::string& note : notes) say("note      {}\n", note);
  if (args.values.given()) check_data_options(task, args.values, args.file);
  std::optional<CalibrationData> data;
  std::unique_ptr<TaskRun> calibration;
  MeasureModel measure;
  if (!args.calibrate.empty()) {
    data.emplace(task, args.calibrate, args.lines, args.values);
    calibration = rethrow_as_usage([&, &task = task, &before = before] {
      return task.open(data->reading(*before), data->values());
    });
    measure = [&](const TrainedModel& model) {
      return measured(*calibration, model, args.threads);
    };
  }
  const QuantizedTrainedModel result = converted(*before, args, measure);
  save_model(out.path(), *result.model);
  if (report) write_text(*report, result.report.to_json());
  print_sizes(*before->store, *result.model->store, result.made, args);
  print_report(result, args);
  if (args.values.given()) compare(task, *before, *result.model, args);
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
      "--weights", {"bf16", "int8", "q8_0", "int4", "q4_0"},
      [args](const std::string& name) {
        args->weights = parse_weight_format(name == "q4_0" ? "int4" : name);
      },
      "format of the matrices (default: int8); q4_0 is another name of int4");
  options.choice(
      "--activations", {"none", "int8"},
      [args](const std::string& name) { args->activations = parse_activation_format(name); },
      "rounding of the inputs of the matrices, for products of integers (default: none)");
  options.choice(
      "--activation-scales", {"dynamic", "static"},
      [args](const std::string& name) { args->static_scales = name == "static"; },
      "scales of int8 activations: one per row at run time, or one per matrix, chosen with "
      "--calibrate (default: dynamic)");
  options.real("--activation-percentile", args->percentile, {0, 100, true},
               "choose static scales so that this percentage of the inputs is not clipped, such as "
               "99.9; 100 = the largest input (default: the scales with the smallest errors)");
  options.choice(
      "--caches", {"f32", "bf16", "int8"},
      [args](const std::string& name) { args->caches = parse_cache_format(name); },
      "format of the key/value caches during generation (default: f32)");
  options.texts("--only", args->only, OptionList::Times::list,
                "convert only matrices whose names match these patterns (*, ?)");
  options.flag("--activation-aware", args->activation_aware,
               "scale 4-bit weights so that channels with large inputs in the data of --calibrate "
               "are rounded more precisely (AWQ)");
  options.texts("--keep", args->keep, OptionList::Times::list,
                "store the matrices that match these patterns by name as bf16");
  options.real(
      "--max-loss-increase", args->max_loss_increase, {0, 100},
      "keep sensitive matrices in bf16 until the loss on the data of --calibrate increases "
      "by at most this value");
  options.input("--calibrate", args->calibrate,
                "data in the format of the training data, on which scales and losses are measured");
  options.integer("--calibration-lines", args->lines, kFromOne,
                  "use only the first lines of --calibrate (default: all)");
  options.output("--report", args->report,
                 "JSON file with the sizes and errors of each matrix; also prints them");
  add_data_options(options, args->values);
  options.threads(args->threads);
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
