#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "weft/core/error.h"
#include "weft/models/generate/generator.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/generate_folder.h"
#include "weft/models/train/checkpoint.h"

namespace weft::program {
namespace {

struct GenerateArguments {
  std::string file;
  std::optional<std::string> prompt;
  std::int64_t tokens = 500;
  SamplingOptions sampling;
  int threads = 0;
  FolderGeneration folder;
  bool ids = false;
};

int generate_from_folder(const GenerateArguments& args) {
  if (!args.ids || args.folder.prompt_ids.empty())
    throw UsageError(
        "a folder's model reads and writes ids: give --prompt-ids \"1 2 3\" and --ids");
  FolderGeneration request = args.folder;
  request.folder = args.file;
  request.threads = args.threads;
  for (const auto& sequence : generate_ids(request)) fmt::print("{}\n", fmt::join(sequence, " "));
  return 0;
}

int generate(const GenerateArguments& args) {
  if (std::filesystem::is_directory(args.file)) return generate_from_folder(args);
  if (args.ids || !args.folder.prompt_ids.empty())
    throw UsageError("--prompt-ids and --ids need a Hugging Face folder");
  try {
    args.sampling.check();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  if (args.prompt && args.prompt->empty())
    throw UsageError("--prompt is empty: a first character is needed");
  const LanguageModel model = load_language_model(args.file);
  const std::string prompt = args.prompt.value_or(model.tokenizer.start_text());
  const std::vector<std::int32_t> ids = model.tokenizer.encode(prompt);
  Session session(*model.graph, model.store, {.threads = args.threads});
  Generator generator(session, model.programs.decode, model.config.context);
  fmt::print("{}", prompt);
  generator.generate(ids, args.tokens, args.sampling, [&](std::int32_t id) {
    fmt::print("{}", model.tokenizer.decode({&id, 1}));
    std::fflush(stdout);
    return true;
  });
  fmt::print("\n");
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("generate", "Let a trained model write");
  const auto args = std::make_shared<GenerateArguments>();
  SamplingOptions& sampling = args->sampling;
  command
      ->add_option("file", args->file,
                   "a .weft file that weft train wrote, or a Hugging Face folder")
      ->required();
  command->add_option("--prompt", args->prompt, "text to go on from (default: a line break)");
  command->add_option("--tokens", args->tokens, "characters to write")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--temperature", sampling.temperature, "below 1: safer; above 1: bolder")
      ->capture_default_str();
  command->add_option("--top-k", sampling.top_k, "draw from the k likeliest only; 0 = all");
  command->add_option("--top-p", sampling.top_p,
                      "draw from the likeliest that hold this much probability");
  command->add_flag("--greedy", sampling.greedy, "always the likeliest");
  command->add_option("--seed", sampling.seed, "the same seed writes the same text")
      ->capture_default_str();
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  FolderGeneration& folder = args->folder;
  command->add_option("--prompt-ids", folder.prompt_ids, "folder: ids to read, \"1 2 3\"");
  command->add_flag("--ids", args->ids, "folder: print ids");
  command->add_option("--beams", folder.beams, "folder: 1 = greedy")->check(CLI::PositiveNumber);
  command->add_option("--length-penalty", folder.length_penalty,
                      "folder: scores are divided by length^F");
  command->add_option("--max-length", folder.max_length, "folder: most ids, the first included")
      ->check(CLI::PositiveNumber);
  command->add_option("--results", folder.results, "folder: sequences to print, best first")
      ->check(CLI::PositiveNumber);
  command->callback([args, &action] { action = [args] { return generate(*args); }; });
}

}  // namespace weft::program
