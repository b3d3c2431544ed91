// weft merge: low-rank adapters become part of the weights.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/run/nonfinite.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/trained/lora_file.h"
#include "weft/models/trained/model.h"
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

/// The word for the values of the matrices, in as few bits as the adapters saw them. `store` has
/// them in those bits, or as floats, which are rounded again: that gives the same bits.
std::string base_of(const LoraAdapters& adapters, std::vector<Program> forward,
                    std::shared_ptr<VariableStore> store, bool floats) {
  std::vector<std::shared_ptr<Graph>> graphs;  // of the programs
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

/// Adapters change the matrices that they were trained beside, once: DataError for others of the
/// same shapes, and for those that have been merged already.
void check_base(const LoraAdapters& adapters, const std::vector<Program>& forward,
                const std::shared_ptr<VariableStore>& store, bool floats,
                const MergeArguments& args) {
  if (adapters.base.empty()) {
    say("base      {} does not say which model it was trained on: that is not checked\n",
        args.adapters);
    return;
  }
  if (!floats && adapters.quantized.empty()) {
    throw DataError(fmt::format(
        "the adapters in {} were trained beside weights in f32, those of {} are quantised: merge "
        "them into the file that it was made from",
        args.adapters, args.file));
  }
  std::string base;
  try {
    base = base_of(adapters, forward, store, floats);
  } catch (const Error&) {
    // The model has not all of the matrices, or not in those bits.
    if (adapters.quantized.empty()) return;  // merge_lora names them
  }
  if (base != adapters.base) {
    throw DataError(fmt::format(
        "the adapters in {} were trained beside other weights than those of {}: it is another "
        "model, or they are merged into it already",
        args.adapters, args.file));
  }
}

int run(const MergeArguments& args, CommandPaths paths) {
  const Checkpoint file = load_checkpoint(args.file, {.verify = true});
  const OutputFile out = paths.writes(
      "--out", args.out, file.has_program("train") ? FileKind::model : FileKind::inference);
  const LoraAdapters adapters = load_lora(args.adapters);
  if (file.find_attachment(kLoraPart) != nullptr) {
    throw DataError(
        fmt::format("the model in {} has adapters of its own beside its weights: name the model "
                    "that they were trained on",
                    args.file));
  }
  std::shared_ptr<VariableStore> store = file.store();
  check_finite(*store, args.file);
  std::vector<Program> programs = file.programs();
  const bool quantized = is_quantized(file.graph());
  check_base(adapters, without_training(programs), store, !quantized, args);
  QuantizedModel floats;
  if (quantized) {
    // A sum would be rounded to the few bits again, which loses most of what was learned.
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
    say("weights   of all {} quantised matrices are f32 again; weft quantize --weights {} rounds "
        "the merged ones\n",
        floats.weights.size(), floats.weights.front().type);
  }
  return 0;
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  OptionList options(app, "merge", "Add trained low-rank adapters to the weights of a model");
  const auto args = std::make_shared<MergeArguments>();
  options
      .input("file", args->file,
             "the .weft file that the adapters were trained on; of a quantised one also the file "
             "that it was made from")
      .required();
  options
      .input("--adapters", args->adapters, "what weft train --lora-rank wrote (.lora.safetensors)")
      .required();
  options.output("--out", args->out, "file to write (.weft)").required();
  options.flag("--force", args->force,
               "replace a file of another kind that has this name, or a model that can be trained "
               "by one that cannot");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
