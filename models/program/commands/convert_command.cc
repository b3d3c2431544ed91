// weft convert: converts between Hugging Face folders, .weft files and GGUF files, a training
// checkpoint to an inference-only file, and a sharded checkpoint to a single file.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/autodiff/optimizers/ema.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/quantize_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  ModelPath model;
  std::string adapters, base, out;
  std::optional<gguf::OutType> type;  // --outtype
  bool inference = false, float_inputs = false, force = false;
};

LoadedModel load(const ConvertArguments& args) {
  ModelPath model = args.model;
  model.verify |= fs::is_directory(model.path);  // all weights are read anyway
  LoadedModel loaded =
      args.adapters.empty() ? load_any_model(model) : load_adapted_model(model, args.adapters);
  for (const std::string& note : loaded.notes) say("note      {}\n", note);
  if (args.float_inputs) {
    rethrow_as_usage([&] { loaded.model = with_float_inputs(*loaded.model); });
    say("dropped   the rounding of activations to int8\n");
  }
  return loaded;
}

/// True if the model is not in a .weft file, so that it cannot be trained.
bool is_foreign(const ConvertArguments& args) {
  return fs::is_directory(args.model.path) || gguf::is_gguf(args.model);
}

void say_model(const ConvertArguments& args, const TrainedModel& model, const std::string& what,
               std::uintmax_t bytes) {
  const auto parameters = static_cast<double>(hf::count_parameters(*model.graph));
  say("{}: {} of {} parameters, {}\n", args.out, what, short_number(parameters),
      short_bytes(static_cast<double>(bytes)));
}

int write_file(const ConvertArguments& args, CommandPaths paths) {
  const bool infers = is_foreign(args) || !args.adapters.empty();
  const OutputFile out =
      paths.plan_file("--out", args.out, infers ? FileKind::inference : FileKind::model);
  const LoadedModel loaded = load(args);
  const std::unique_ptr<TrainedModel>& model = loaded.model;
  model->check();  // rejects a folder without a tokenizer, which supports only ids
  save_model(out.path(), *model);
  say_model(args, *model, fmt::format("a {}", model->layout().kind), fs::file_size(args.out));
  return 0;
}

/// Converts a trainable file to an inference-only file with the weights that evaluations used
/// during training.
int write_inference_file(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::inference);
  const LoadedModel loaded = load_any_model(args.model);
  const std::unique_ptr<TrainedModel>& model = loaded.model;
  const auto infers = without_training(*model);
  infers->history = {};
  const bool averages = model->settings.ema > 0 && has_averages(*model->store);
  if (averages) infers->store = averaged_store(*model->store);
  save_model(out.path(), *infers);
  say_model(args, *infers, fmt::format("a {}", infers->layout().kind), fs::file_size(args.out));
  if (averages) say("weights   the averages of the training run (--ema)\n");
  say("file      {} -> {} (without training state)\n",
      short_bytes(static_cast<double>(checkpoint_bytes(args.model))),
      short_bytes(static_cast<double>(fs::file_size(args.out))));
  return 0;
}

int write_folder(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = paths.plan_folder("--out", args.out);
  const LoadedModel loaded = load(args);
  const std::unique_ptr<TrainedModel>& model = loaded.model;
  const bool adapters = model->lora.has_value();
  if (!adapters && !args.base.empty()) {
    throw UsageError(
        fmt::format("--base is for models with adapters, which {} does not have", args.model.path));
  }
  const FolderReport report =
      adapters ? save_adapter_folder(out.path(), *model, args.base, {.force = args.force})
               : save_folder(out.path(), *model, {.force = args.force});
  const char* tensors = adapters ? hf::kAdapterTensorsFile : "model.safetensors";
  say_model(args, *model,
            fmt::format("{} {}", adapters ? "adapters for a" : "a", report.architecture),
            fs::file_size(fs::path(args.out) / tensors));
  for (const std::string& note : report.notes) say("note      {}\n", note);
  return 0;
}

int write_gguf(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::gguf);
  const LoadedModel loaded = load(args);
  const gguf::WriteReport report =
      save_gguf(out.path(), *loaded.model, args.type.value_or(gguf::OutType::automatic));
  say_model(args, *loaded.model, fmt::format("a {} (GGUF)", report.architecture),
            fs::file_size(args.out));
  for (const std::string& note : report.notes) say("note      {}\n", note);
  return 0;
}

int run(const ConvertArguments& args, const CommandPaths& paths) {
  const bool to_gguf = args.out.ends_with(".gguf");
  if (args.type && !to_gguf)
    throw UsageError("--outtype is for GGUF files: --out must end with .gguf");
  if (args.inference) {
    if (!args.adapters.empty() || !args.base.empty() || args.float_inputs) {
      throw UsageError(
          "--inference cannot be combined with --adapters, --base or --drop-activation-rounding");
    }
    if (is_foreign(args) || to_gguf) {
      throw UsageError(fmt::format(
          "--inference is for .weft files; {} is {}", to_gguf ? args.out : args.model.path,
          fs::is_directory(args.model.path) && !to_gguf ? "a folder" : "a GGUF file"));
    }
    return write_inference_file(args, paths);
  }
  if (to_gguf) {
    if (!args.base.empty())
      throw UsageError("--base is for adapter folders: --out must name a folder (NAME/)");
    return write_gguf(args, paths);
  }
  // The name of the output determines its type: a folder can also be converted to a folder, and a
  // file to a file.
  const bool to_folder =
      fs::is_directory(args.model.path) ? args.out.ends_with('/') : !args.out.ends_with(".weft");
  if (!to_folder && !args.base.empty())
    throw UsageError("--base is for adapter folders: --out must name a folder (NAME/)");
  return to_folder ? write_folder(args, paths) : write_file(args, paths);
}

}  // namespace

void add_convert_command(CLI::App& app, Action& action) {
  OptionList options(app, "convert",
                     "Convert a Hugging Face folder, a GGUF file or a sharded checkpoint to one "
                     ".weft file, a model to a folder or a GGUF file, or a training checkpoint to "
                     "an inference-only file");
  const auto args = std::make_shared<ConvertArguments>();
  options
      .input("model", args->model,
             "a folder with config.json, model.safetensors and a tokenizer, an adapter folder of "
             "the PEFT library, a .weft file, or a GGUF file")
      .required();
  options.input("--adapters", args->adapters,
                "add these adapters to the model, without merging them: an adapter folder of the "
                "PEFT library, or a .lora.safetensors file");
  options.text("--base", args->base,
               "for a folder with adapters: the path or name of the base model "
               "(base_model_name_or_path)");
  options
      .output("--out", args->out,
              "for a folder: the .weft file to write; it works with all commands that accept the "
              "folder, but cannot be trained (to train, use --from FOLDER). For a .weft file: the "
              "folder to write, which Hugging Face's library can read (an existing model folder is "
              "replaced as a whole; a model with adapters becomes an adapter folder of the PEFT "
              "library), or the .weft file to write, which combines the parts of a "
              "sharded checkpoint (weft train --sharded) in one file. In all cases: the GGUF file "
              "to write (NAME.gguf), if the model is a decoder")
      .required();
  options.choice(
      "--outtype", {"auto", "f32", "f16", "bf16", "q8_0", "q4_0"},
      [args](const std::string& name) { args->type = parse_choice<gguf::OutType>(name); },
      "for a GGUF file: type of the matrices (default: auto, which keeps their format); vectors, "
      "norms and routers are always f32");
  options.flag("--drop-activation-rounding", args->float_inputs,
               "remove the rounding of activations to int8 (weft quantize --activations int8), "
               "which folders and GGUF files cannot express; the weights remain quantised");
  options.flag("--inference", args->inference,
               "for a .weft file: write a .weft file with only the parts that inference needs, "
               "without training step, moments and curves; if the file has averages of its weights "
               "(--ema), these become the weights");
  options.flag("--force", args->force,
               "also replace an existing file of another type, a trainable model, or a model "
               "folder that contains other files");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
