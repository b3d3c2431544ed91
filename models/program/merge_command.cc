// weft merge: low-rank adapters become part of the weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "weft/graph/run/nonfinite.h"
#include "weft/models/program/commands.h"
#include "weft/models/train/lora_file.h"
#include "weft/serialization/checkpoint.h"

namespace weft::program {
namespace {

struct MergeArguments {
  std::string file, adapters, out;
};

bool trains(const Program& program) {
  const auto& updates = program.given_updates();
  return std::any_of(updates.begin(), updates.end(), [](const auto& update) {
    return update.first.info().kind == VariableKind::parameter;
  });
}

int run(const MergeArguments& args) {
  const LoraAdapters adapters = load_lora(args.adapters);
  const Checkpoint file = load_checkpoint(args.file);
  std::vector<Program> forward;
  for (const Program& program : file.programs()) {
    if (!trains(program)) forward.push_back(program);
  }
  const auto store = file.store();
  check_finite(*store, args.file);
  merge_lora(forward, *store, adapters);
  save_checkpoint(args.out, *store, file.programs(), {file.attachments()});
  fmt::print("merged    {} matrices, scale {:g}: {}\n", adapters.adapters.size(), adapters.scale,
             args.out);
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("merge", "Add trained low-rank adapters to the weights of a model");
  const auto args = std::make_shared<MergeArguments>();
  command->add_option("file", args->file, "the .weft file that the adapters were trained on")
      ->required();
  command
      ->add_option("--adapters", args->adapters,
                   "what weft train --lora-rank wrote (.lora.safetensors)")
      ->required();
  command->add_option("--out", args->out, "file to write (.weft)")->required();
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
