// weft merge: merges low-rank adapters into the weights of a model.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantize.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/training/model.h"
#include "weft/serialization/checkpoint.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

struct MergeArguments {
  ModelPath file;
  std::string adapters, out;
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
  std::string base;
  try {
    base = base_of(adapters, forward, store, floats);
  } catch (const Error&) {
    // The model lacks some of the matrices or stores them in a different precision.
    if (floats && adapters.quantized.empty()) return;  // merge_lora() reports missing matrices
  }
  if (base == adapters.base) return;
  if (!floats && adapters.quantized.empty()) {
    throw DataError(fmt::format(
        "the adapters in {} were trained on f32 weights, but the weights in {} are quantised: "
        "merge the adapters into the file from which the weights were quantised",
        args.adapters, args.file.path));
  }
  throw DataError(
      fmt::format("the adapters in {} were not trained on the weights in {}: this is a different "
                  "model, or the adapters are already merged into it",
                  args.adapters, args.file.path));
}

/// Reads an adapter file, or matches an adapter folder with the model that `load` returns.
template <class Load>
TrainedAdapters read_adapters_for(const MergeArguments& args, const Load& load) {
  TrainedAdapters adapters;
  if (fs::is_directory(args.adapters)) {
    const LoadedModel& loaded = load();
    adapters = read_adapters({args.adapters, args.file.ignored_keys}, *loaded.model, loaded.task);
  } else {
    adapters.values = load_lora(args.adapters);
  }
  return adapters;
}

void check_unadapted(bool adapted, const MergeArguments& args) {
  if (!adapted) return;
  throw DataError(fmt::format(
      "the model in {} has unmerged adapters: pass the model that these adapters were trained on",
      args.file.path));
}

/// Merges adapters into the weights that `programs` read. Quantised matrices become f32: quantising
/// the sum again would lose most of the effect of the adapters. Prints the results.
void merge(std::vector<Program>& programs, std::shared_ptr<VariableStore>& store,
           QuantizedModel& floats, const TrainedAdapters& adapters, const MergeArguments& args) {
  const bool quantized = !quantized_weights(common_graph(programs, "programs")).empty();
  check_base(adapters.values, without_training(programs), store, !quantized, args);
  if (quantized) {
    floats = dequantize(programs, *store);
    programs = floats.programs;
    store = floats.store;
  }
  merge_lora(without_training(programs), *store, adapters.values);
  for (const auto& [name, value] : adapters.parameters) store->set(name, value);
  check_finite(*store, fmt::format("{} with {}", args.file.path, args.adapters));
}

void say_merged(const TrainedAdapters& adapters, const QuantizedModel& floats,
                const std::string& out) {
  say("merged    {} matrices, scale {:g}{}: {}\n",
      adapters.values.adapters.size() + adapters.values.lookups.size(), adapters.values.scale,
      adapters.parameters.empty()
          ? ""
          : fmt::format(", {} whole parameters", adapters.parameters.size()),
      out);
  if (floats.weights.empty()) return;
  say("weights   all {} quantised matrices are now f32; weft quantize --weights {} quantises the "
      "merged matrices\n",
      floats.weights.size(), floats.weights.front().type);
}

/// Merges into a .weft file, whose training step and history are kept.
int merge_file(const MergeArguments& args, CommandPaths paths) {
  const Checkpoint file = load_checkpoint(args.file, {.verify = true, .once = !args.file.verify});
  const OutputFile out = paths.plan_file(
      "--out", args.out, file.has_program("train") ? FileKind::model : FileKind::inference);
  check_unadapted(file.find_attachment(kLoraPart) != nullptr, args);
  const TrainedAdapters adapters = read_adapters_for(
      args, [&] { return load_any_model(hf::base_of_adapters(args.file, args.adapters)); });
  std::shared_ptr<VariableStore> store = file.store();
  if (!file.is_finite()) check_finite(*store, args.file.path);
  std::vector<Program> programs = file.programs();
  QuantizedModel floats;
  merge(programs, store, floats, adapters, args);
  save_checkpoint(out.path(), *store, programs, {file.attachments()});
  say_merged(adapters, floats, out.path());
  return 0;
}

/// Merges into the model of a Hugging Face folder or a GGUF file, or writes such a folder.
int merge_folder(const MergeArguments& args, CommandPaths paths) {
  const bool to_folder = args.out.ends_with('/');
  const OutputFile out = to_folder ? paths.plan_folder("--out", args.out)
                                   : paths.plan_file("--out", args.out, FileKind::inference);
  ModelPath base = args.file;
  base.widen = true;
  const LoadedModel loaded = load_base_model(base, args.adapters);
  const std::unique_ptr<TrainedModel>& model = loaded.model;
  check_unadapted(model->lora.has_value(), args);
  if (!to_folder) model->check();
  const TrainedAdapters adapters =
      read_adapters_for(args, [&]() -> const LoadedModel& { return loaded; });
  std::vector<Program> programs = model->all_programs();
  QuantizedModel floats;
  merge(programs, model->store, floats, adapters, args);
  if (floats.graph != nullptr) model->replace_programs(floats.graph, programs);
  FolderReport report;
  if (to_folder) {
    report = save_folder(out.path(), *model, {.force = args.force});
  } else {
    save_model(out.path(), *model);
  }
  say_merged(adapters, floats, out.path());
  for (const std::string& note : report.notes) say("note      {}\n", note);
  return 0;
}

int run(const MergeArguments& args, const CommandPaths& paths) {
  const bool folders =
      fs::is_directory(args.file.path) || gguf::is_gguf(args.file) || args.out.ends_with('/');
  return folders ? merge_folder(args, paths) : merge_file(args, paths);
}

}  // namespace

void add_merge_command(CLI::App& app, Action& action) {
  OptionList options(app, "merge", "Merge trained low-rank adapters into the weights of a model");
  const auto args = std::make_shared<MergeArguments>();
  options
      .input("file", args->file,
             "the .weft file or Hugging Face folder that the adapters were trained on; if this "
             "file is quantised, the file that it was quantised from can be given instead")
      .required();
  options
      .input("--adapters", args->adapters,
             "adapters written by weft train --lora-rank (.lora.safetensors), or an adapter folder "
             "of the PEFT library")
      .required();
  options.output("--out", args->out, "file to write (.weft), or folder to write (NAME/)")
      .required();
  options.flag("--force", args->force,
               "replace an existing file of another type, or replace a trainable model by one that "
               "cannot be trained");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
