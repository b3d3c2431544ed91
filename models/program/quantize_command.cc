#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/held_out.h"
#include "weft/models/program/trained_model.h"

namespace weft::program {
namespace {

struct QuantizeArguments {
  std::string file, out;
  WeightFormat weights = WeightFormat::int8;
  std::vector<std::string> only;
  bool narrow_caches = false;
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
  fmt::print("matrices  {} of them as {}: {} -> {}\n", made.weights.size(),
             weight_format_name(args.weights), short_bytes(converted_before),
             short_bytes(converted_after));
  if (made.narrow_caches > 0)
    fmt::print("caches    {} of keys and values as bf16\n", made.narrow_caches);
  fmt::print("variables {} -> {} (what only training needs is gone)\n",
             short_bytes(static_cast<double>(before.bytes())),
             short_bytes(static_cast<double>(after.bytes())));
  fmt::print("files     {} {} -> {} {}\n", args.file,
             short_bytes(static_cast<double>(std::filesystem::file_size(args.file))), args.out,
             short_bytes(static_cast<double>(std::filesystem::file_size(args.out))));
}

/// What the model lost: perplexity where it says one token after another, else its metrics.
void print_change(const Evaluation& before, const Evaluation& after, bool perplexity) {
  if (perplexity) {
    fmt::print("perplexity {:.4f} -> {:.4f} ({:+.2f}%), validation loss {:.5f} -> {:.5f}\n",
               std::exp(before.loss), std::exp(after.loss),
               100 * (std::exp(after.loss - before.loss) - 1), before.loss, after.loss);
    return;
  }
  fmt::print("held out  loss {:.5f} -> {:.5f}", before.loss, after.loss);
  for (std::size_t i = 0; i < before.metrics.size(); ++i) {
    fmt::print(", {} {:.4f} -> {:.4f}", before.metrics[i].name, before.metrics[i].value,
               after.metrics[i].value);
  }
  fmt::print("\n");
}

template <class Model>
int convert(const Model& before, const QuantizeArguments& args) {
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
  save_model(args.out, after);
  print_sizes(*before.store, *after.store, made, args);
  if (args.data.given())
    print_change(held_out_evaluation(before, args.data), held_out_evaluation(after, args.data),
                 kHasPerplexity<Model>);
  return 0;
}

int run(const QuantizeArguments& args) {
  return with_trained_model(args.file, [&](const auto& model) { return convert(model, args); });
}

}  // namespace

void add_quantize_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("quantize", "Keep the weights of a trained model in fewer bits");
  const auto args = std::make_shared<QuantizeArguments>();
  command->add_option("file", args->file, "a .weft file that weft train wrote")->required();
  command->add_option("--out", args->out, "file to write (.weft): it runs, but cannot be trained")
      ->required();
  command
      ->add_option_function<std::string>(
          "--weights",
          [args](const std::string& name) { args->weights = parse_weight_format(name); },
          "bf16, int8 or int4 (default: int8)")
      ->check(CLI::IsMember({"bf16", "int8", "int4"}));
  command
      ->add_option_function<std::string>(
          "--caches", [args](const std::string& name) { args->narrow_caches = name == "bf16"; },
          "how generating keeps keys and values: f32 or bf16 (default: f32)")
      ->check(CLI::IsMember({"f32", "bf16"}));
  command->add_option("--only", args->only, "convert only matrices of these names (*, ?)");
  add_held_out_options(*command, args->data);
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
