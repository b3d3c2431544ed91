// weft merge: low-rank adapters become part of the weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/run/nonfinite.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/trained/lora_file.h"
#include "weft/serialization/checkpoint.h"

namespace weft::program {
namespace {

struct MergeArguments {
  std::string file, adapters, out;
  bool force = false;
};

bool trains(const Program& program) {
  const auto& updates = program.given_updates();
  return std::any_of(updates.begin(), updates.end(), [](const auto& update) {
    return update.first.info().kind == VariableKind::parameter;
  });
}

/// Adapters change the matrices that they were trained beside, once: DataError for others of the
/// same shapes, and for those that have been merged already.
void check_base(const LoraAdapters& adapters, const VariableStore& store,
                const MergeArguments& args) {
  if (adapters.base.empty()) {
    say("base      {} does not say which model it was trained on: that is not checked\n",
        args.adapters);
    return;
  }
  for (const auto& [name, adapter] : adapters.adapters) {
    if (!store.contains(name)) return;  // merge_lora says so
  }
  if (adapters_base(adapters, store) != adapters.base) {
    throw DataError(fmt::format(
        "the adapters in {} were trained beside other weights than those of {}: it is another "
        "model, or they are merged into it already",
        args.adapters, args.file));
  }
}

int run(const MergeArguments& args, CommandPaths paths) {
  const OutputFile out = paths.writes("--out", args.out, FileKind::model);
  const LoraAdapters adapters = load_lora(args.adapters);
  const Checkpoint file = load_checkpoint(args.file, {.verify = true});
  std::vector<Program> forward;
  for (const Program& program : file.programs()) {
    if (!trains(program)) forward.push_back(program);
  }
  const auto store = file.store();
  check_finite(*store, args.file);
  check_base(adapters, *store, args);
  merge_lora(forward, *store, adapters);
  save_checkpoint(out.path(), *store, file.programs(), {file.attachments()});
  say("merged    {} matrices, scale {:g}: {}\n", adapters.adapters.size(), adapters.scale,
      out.path());
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("merge", "Add trained low-rank adapters to the weights of a model");
  const auto args = std::make_shared<MergeArguments>();
  OptionList options(*command);
  options.input("file", args->file, "the .weft file that the adapters were trained on")->required();
  options
      .input("--adapters", args->adapters, "what weft train --lora-rank wrote (.lora.safetensors)")
      ->required();
  options.output("--out", args->out, "file to write (.weft)")->required();
  options.flag("--force", args->force, "replace a file of another kind that has this name");
  command->callback([args, command, &action] {
    action = [args, command] { return run(*args, CommandPaths(*command, args->force)); };
  });
}

}  // namespace weft::program
