#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/figures.h"
#include "weft/models/program/held_out.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/program/trained_model.h"

namespace weft::program {
namespace {

struct QuantizeArguments {
  std::string file, out;
  WeightFormat weights = WeightFormat::int8;
  std::vector<std::string> only;
  bool narrow_caches = false, force = false;
  HeldOutData data;
};

// The programs of every kind of model that remain; training is gone.
std::vector<Program*> inference(LanguageModel& m) {
  std::vector<Program*> programs = {&m.programs.evaluate, &m.programs.decode};
  if (m.programs.score.graph() != nullptr) programs.push_back(&m.programs.score);
  return programs;
}
std::vector<Program*> inference(PretrainingModel& m) { return {&m.programs.evaluate}; }
std::vector<Program*> inference(TextClassifier& m) { return {&m.programs.classify}; }
std::vector<Program*> inference(ImageClassifier& m) {
  return {&m.programs.evaluate, &m.programs.classify};
}
std::vector<Program*> inference(MaskedImageModel& m) {
  return {&m.programs.evaluate, &m.programs.reconstruct};
}
std::vector<Program*> inference(Translator& m) {
  return {&m.programs.evaluate, &m.programs.decode.prompt, &m.programs.decode.step,
          &m.programs.decode.reorder};
}

void save_model(const std::string& path, const LanguageModel& m) { save_language_model(path, m); }
void save_model(const std::string& path, const PretrainingModel& m) {
  save_pretraining_model(path, m);
}
void save_model(const std::string& path, const TextClassifier& m) { save_text_classifier(path, m); }
void save_model(const std::string& path, const ImageClassifier& m) {
  save_image_classifier(path, m);
}
void save_model(const std::string& path, const MaskedImageModel& m) {
  save_masked_image_model(path, m);
}
void save_model(const std::string& path, const Translator& m) { save_translator(path, m); }

void print_sizes(const VariableStore& before, const VariableStore& after,
                 const QuantizedModel& made, const QuantizeArguments& args) {
  double converted_before = 0, converted_after = 0;
  for (const ConvertedWeight& w : made.weights) {
    converted_before += static_cast<double>(w.bytes_before);
    converted_after += static_cast<double>(w.bytes_after);
  }
  say("matrices  {} of them as {}: {} -> {}\n", made.weights.size(),
      weight_format_name(args.weights), short_bytes(converted_before),
      short_bytes(converted_after));
  if (made.narrow_caches > 0) say("caches    {} of keys and values as bf16\n", made.narrow_caches);
  say("variables {} -> {} (what only training needs is gone)\n",
      short_bytes(static_cast<double>(before.bytes())),
      short_bytes(static_cast<double>(after.bytes())));
  say("files     {} {} -> {} {}\n", args.file,
      short_bytes(static_cast<double>(std::filesystem::file_size(args.file))), args.out,
      short_bytes(static_cast<double>(std::filesystem::file_size(args.out))));
}

/// What the model lost: perplexity where it says one token after another, else its metrics.
void print_change(const Evaluation& before, const Evaluation& after, bool perplexity) {
  for (const Evaluation* found : {&before, &after}) {
    finite_figure(perplexity ? std::exp(found->loss) : found->loss,
                  perplexity ? "the perplexity" : "the loss");
    for (const Metric& metric : found->metrics) finite_figure(metric.value, metric.name);
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

template <class Model>
int convert(const Model& before, const QuantizeArguments& args, const OutputFile& out) {
  check_data(before, args.data, args.file);
  QuantizeOptions options{.weights = args.weights, .narrow_caches = args.narrow_caches};
  if (!args.only.empty()) options.patterns = args.only;
  Model after = before;
  const std::vector<Program*> parts = inference(after);
  std::vector<Program> programs;
  for (const Program* program : parts) programs.push_back(*program);
  const QuantizedModel made = quantize(programs, *before.store, options);
  if (args.narrow_caches && made.narrow_caches == 0)
    throw UsageError(fmt::format("--caches bf16: {} keeps no keys and values", args.file));
  for (std::size_t i = 0; i < parts.size(); ++i) *parts[i] = made.programs[i];
  after.programs.train = Program("train");
  after.graph = made.graph;
  after.store = made.store;
  save_model(out.path(), after);
  print_sizes(*before.store, *after.store, made, args);
  if (args.data.given())
    print_change(held_out_evaluation(before, args.data), held_out_evaluation(after, args.data),
                 kHasPerplexity<Model>);
  return 0;
}

/// What can be trained is worth more than what is made of it: only --force replaces it.
void keep_trainable(const QuantizeArguments& args) {
  if (args.force || !std::filesystem::exists(args.out)) return;
  bool trainable = false;
  try {
    trainable = load_checkpoint(args.out).has_program("train");
  } catch (const Error&) {
    return;  // no model that could be lost
  }
  if (trainable) {
    throw IoError(fmt::format(
        "--out {} is a model that can be trained, and would be replaced by one that cannot: name "
        "another file, or add --force",
        args.out));
  }
}

int run(const QuantizeArguments& args, CommandPaths paths) {
  const OutputFile out = paths.writes("--out", args.out, FileKind::model);
  keep_trainable(args);
  return with_trained_model(args.file,
                            [&](const auto& model) { return convert(model, args, out); });
}

}  // namespace

void add_quantize_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("quantize", "Keep the weights of a trained model in fewer bits");
  const auto args = std::make_shared<QuantizeArguments>();
  OptionList options(*command);
  options.input("file", args->file, "a .weft file that weft train wrote")->required();
  options.output("--out", args->out, "file to write (.weft): it runs, but cannot be trained")
      ->required();
  options.flag("--force", args->force,
               "replace a file of another kind, or a model that can be trained, of this name");
  options.choice(
      "--weights", {"bf16", "int8", "int4"},
      [args](const std::string& name) { args->weights = parse_weight_format(name); },
      "how matrices are kept (default: int8)");
  options.choice(
      "--caches", {"f32", "bf16"},
      [args](const std::string& name) { args->narrow_caches = name == "bf16"; },
      "how generating keeps keys and values (default: f32)");
  options.texts("--only", args->only, OptionList::Times::list,
                "convert only matrices of these names (*, ?)");
  add_held_out_options(*command, args->data);
  command->callback([args, command, &action] {
    action = [args, command] { return run(*args, CommandPaths(*command, args->force)); };
  });
}

}  // namespace weft::program
