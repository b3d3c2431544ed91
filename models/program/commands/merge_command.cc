// weft merge: merges low-rank adapters into the weights of a model.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/training/model.h"
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

std::vector<Program> without_training(const std::vector<Program>& programs) {
  std::vector<Program> forward;
  for (const Program& program : programs) {
    if (!trains(program)) forward.push_back(program);
  }
  return forward;
}

/// Returns the fingerprint of the matrices in the precision that was used to train the adapters.
/// `store` contains the matrices in this precision or as floats. Floats are quantised again, which
/// reproduces the original bits.
std::string base_of(const LoraAdapters& adapters, std::vector<Program> forward,
                    std::shared_ptr<VariableStore> store, bool floats) {
  std::vector<std::shared_ptr<Graph>> graphs;  // keeps the graphs of the programs alive
  std::map<WeightFormat, std::vector<std::string>> names;
  for (const auto& [name, format] : adapters.quantized) names[format].push_back(name);
  for (const auto& [format, patterns] : names) {
    if (!floats) break;
    QuantizedModel made = quantize(forward, *store, {.weights = format, .patterns = patterns});
    forward = std::move(made.programs);
    store = made.store;
    graphs.push_back(made.graph);
  }
  return adapters_base(adapters, *store);
}

/// Checks that adapters are merged only into the matrices that they were trained on, and only once.
/// Throws DataError if the adapters were trained on other matrices of the same shapes, or if they
/// have already been merged into these matrices.
void check_base(const LoraAdapters& adapters, const std::vector<Program>& forward,
                const std::shared_ptr<VariableStore>& store, bool floats,
                const MergeArguments& args) {
  if (adapters.base.empty()) {
    say("base      not checked: {} does not specify which model it was trained on\n",
        args.adapters);
    return;
  }
  if (!floats && adapters.quantized.empty()) {
    throw DataError(fmt::format(
        "the adapters in {} were trained on f32 weights, but the weights in {} are quantised: "
        "merge the adapters into the file from which the weights were quantised",
        args.adapters, args.file));
  }
  std::string base;
  try {
    base = base_of(adapters, forward, store, floats);
  } catch (const Error&) {
    // The model lacks some of the matrices or stores them in a different precision.
    if (adapters.quantized.empty()) return;  // merge_lora() reports the missing matrices
  }
  if (base != adapters.base) {
    throw DataError(
        fmt::format("the adapters in {} were not trained on the weights in {}: this is a different "
                    "model, or the adapters are already merged into it",
                    args.adapters, args.file));
  }
}

int run(const MergeArguments& args, CommandPaths paths) {
  const Checkpoint file = load_checkpoint(args.file, {.verify = true});
  const OutputFile out = paths.plan_file(
      "--out", args.out, file.has_program("train") ? FileKind::model : FileKind::inference);
  const LoraAdapters adapters = load_lora(args.adapters);
  if (file.find_attachment(kLoraPart) != nullptr) {
    throw DataError(fmt::format(
        "the model in {} has unmerged adapters: pass the model that these adapters were trained on",
        args.file));
  }
  std::shared_ptr<VariableStore> store = file.store();
  check_finite(*store, args.file);
  std::vector<Program> programs = file.programs();
  const bool quantized = is_quantized(file.graph());
  check_base(adapters, without_training(programs), store, !quantized, args);
  QuantizedModel floats;
  if (quantized) {
    // Quantising the sum again would lose most of the effect of the adapters.
    floats = dequantize(programs, *store);
    programs = floats.programs;
    store = floats.store;
  }
  merge_lora(without_training(programs), *store, adapters);
  check_finite(*store, fmt::format("{} with {}", args.file, args.adapters));
  save_checkpoint(out.path(), *store, programs, {file.attachments()});
  say("merged    {} matrices, scale {:g}: {}\n", adapters.adapters.size(), adapters.scale,
      out.path());
  if (quantized) {
    say("weights   all {} quantised matrices are now f32; weft quantize --weights {} quantises the "
        "merged matrices\n",
        floats.weights.size(), floats.weights.front().type);
  }
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  OptionList options(app, "merge", "Merge trained low-rank adapters into the weights of a model");
  const auto args = std::make_shared<MergeArguments>();
  options
      .input("file", args->file,
             "the .weft file that the adapters were trained on; if this file is quantised, the "
             "file that it was quantised from can be given instead")
      .required();
  options
      .input("--adapters", args->adapters,
             "adapters written by weft train --lora-rank (.lora.safetensors)")
      .required();
  options.output("--out", args->out, "file to write (.weft)").required();
  options.flag("--force", args->force,
               "replace an existing file of another type, or replace a trainable model by one that "
               "cannot be trained");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
