#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/evaluate.h"

namespace weft::program {
namespace {

struct QuantizeArguments {
  std::string file, out, text;
  WeightFormat weights = WeightFormat::int8;
  std::vector<std::string> only;
  bool narrow_caches = false;
  int threads = 0;
};

struct Converted {
  LanguageModel model;
  std::vector<ConvertedWeight> weights;
  std::size_t narrow_caches = 0;
};

Converted quantized(const LanguageModel& model, const QuantizeArguments& args) {
  QuantizeOptions options{.weights = args.weights, .narrow_caches = args.narrow_caches};
  if (!args.only.empty()) options.patterns = args.only;
  std::vector<Program> programs = {model.programs.evaluate, model.programs.decode};
  const bool scores = model.programs.score.graph() != nullptr;
  if (scores) programs.push_back(model.programs.score);
  QuantizedModel made = quantize(programs, *model.store, options);
  LanguageModel result = model;
  result.graph = made.graph;
  result.programs = {Program("train"), made.programs[0], made.programs[1],
                     scores ? made.programs[2] : Program("score")};
  result.store = made.store;
  return {std::move(result), std::move(made.weights), made.narrow_caches};
}

void print_sizes(const LanguageModel& before, const Converted& made,
                 const QuantizeArguments& args) {
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
             short_bytes(static_cast<double>(before.store->bytes())),
             short_bytes(static_cast<double>(made.model.store->bytes())));
  fmt::print("files     {} {} -> {} {}\n", args.file,
             short_bytes(static_cast<double>(std::filesystem::file_size(args.file))), args.out,
             short_bytes(static_cast<double>(std::filesystem::file_size(args.out))));
}

int run(const QuantizeArguments& args) {
  const LanguageModel before = load_language_model(args.file);
  const Converted made = quantized(before, args);
  save_language_model(args.out, made.model);
  print_sizes(before, made, args);
  if (args.text.empty()) return 0;
  const double loss_before = validation_loss(before, args.text, args.threads);
  const double loss_after = validation_loss(made.model, args.text, args.threads);
  fmt::print("perplexity {:.4f} -> {:.4f} ({:+.2f}%), validation loss {:.5f} -> {:.5f}\n",
             std::exp(loss_before), std::exp(loss_after),
             100 * (std::exp(loss_after - loss_before) - 1), loss_before, loss_after);
  return 0;
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
  command->add_option("--text", args->text,
                      "text of the training: perplexity of its validation part, before and after");
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
