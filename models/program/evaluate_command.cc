#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "weft/models/program/commands.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/evaluate.h"

namespace weft::program {
namespace {

struct EvaluateArguments {
  std::string file, text;
  int threads = 0;
};

int run(const EvaluateArguments& args) {
  const double loss = validation_loss(load_language_model(args.file), args.text, args.threads);
  fmt::print("validation loss {:.5f}, perplexity {:.4f}\n", loss, std::exp(loss));
  return 0;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("evaluate", "Loss and perplexity on the validation part of a text");
  const auto args = std::make_shared<EvaluateArguments>();
  command->add_option("file", args->file, "a .weft file that weft train or quantize wrote")
      ->required();
  command->add_option("--text", args->text, "text of the training; its end validates")->required();
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
