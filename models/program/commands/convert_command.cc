// weft convert: converts between Hugging Face folders, .weft files, GGUF and ONNX files and files
// of tensors, a training checkpoint to an inference-only file, and a sharded checkpoint to a single
// file.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "weft/autodiff/optimizers/ema.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/published.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/files/tensor_files.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/onnx_model.h"
#include "weft/models/tasks/quantize_model.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/weights.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  ModelPath model;
  std::string adapters, base, out, program;
  std::int64_t opset = 17;
  bool opset_given = false;
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

bool is_onnx(const ConvertArguments& args) {
  return fs::is_regular_file(args.model.path) && is_onnx_file(args.model);
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

int write_onnx_model(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = paths.plan_file("--out", args.out, FileKind::onnx);
  const LoadedModel loaded = load(args);
  save_onnx(out.path(), *loaded.model, args.program, args.opset);
  say_model(args, *loaded.model, fmt::format("a {} (ONNX)", loaded.model->layout().kind),
            fs::file_size(args.out));
  return 0;
}

void say_tensors(const ConvertArguments& args, const TensorMap& tensors) {
  say("{}: {} tensors, {}\n", args.out, tensors.size(),
      short_bytes(static_cast<double>(fs::file_size(args.out))));
}

/// Writes the weights of a model under their names in Weft, or the tensors of another file.
int write_tensors(const ConvertArguments& args, CommandPaths paths) {
  const OutputFile out = plan_tensor_file(paths, "--out", args.out);
  TensorMap tensors;
  if (is_tensor_file(args.model)) {
    tensors = read_tensor_file(args.model);
  } else if (is_onnx(args)) {
    tensors = read_onnx(args.model).checkpoint.tensors();
  } else {
    const LoadedModel loaded = load(args);
    tensors = weights_of(*loaded.model->graph, *loaded.model->store);
  }
  write_tensor_file(out, tensors);
  say_tensors(args, tensors);
  return 0;
}

/// Converts an ONNX file to a .weft file, or to an ONNX file of another opset.
int convert_onnx(const ConvertArguments& args, CommandPaths paths) {
  const bool to_weft = args.out.ends_with(".weft");
  const OutputFile out =
      paths.plan_file("--out", args.out, to_weft ? FileKind::inference : FileKind::onnx);
  const OnnxModel model = read_onnx(args.model);
  const Program& program = model.checkpoint.programs().front();
  if (to_weft) {
    save_checkpoint(out.path(), *model.checkpoint.store(), {program},
                    {.attachments = model.checkpoint.attachments()});
  } else {
    write_onnx(out.path(), program, *model.checkpoint.store(),
               {.opset = args.opset,
                .metadata = model.metadata,
                .attachments = model.checkpoint.attachments(),
                .graph_name = model.graph_name,
                .description = model.description});
  }
  say("{}: {} nodes, {}\n", args.out, program.nodes().size(),
      short_bytes(static_cast<double>(fs::file_size(args.out))));
  return 0;
}

/// Throws UsageError for options that do not apply to the files.
void check_options(const ConvertArguments& args) {
  const bool to_onnx = args.out.ends_with(".onnx"), from_onnx = is_onnx(args),
             from_tensors = is_tensor_file(args.model);
  if (args.type && !args.out.ends_with(".gguf"))
    throw UsageError("--outtype is for GGUF files: --out must end with .gguf");
  if ((args.opset_given || !args.program.empty()) && !to_onnx) {
    throw UsageError(fmt::format("{} is for ONNX files: --out must end with .onnx",
                                 args.opset_given ? "--opset" : "--program"));
  }
  const bool is_model = !from_onnx && !from_tensors;
  const char* option = !args.adapters.empty()  ? "--adapters"
                       : !args.base.empty()    ? "--base"
                       : args.float_inputs     ? "--drop-activation-rounding"
                       : args.inference        ? "--inference"
                       : !args.program.empty() ? "--program"
                                               : nullptr;
  if (!is_model && option != nullptr) {
    throw UsageError(fmt::format("{} is for models, but {} is {}", option, args.model.path,
                                 from_onnx ? "an ONNX file" : "a file of tensors"));
  }
  if (fs::is_regular_file(args.model.path) && is_npz(args.model) && !has_tensor_ending(args.out)) {
    throw UsageError(
        fmt::format("{} contains tensors but no graph: it can be converted to .safetensors or .npz",
                    args.model.path));
  }
  if (from_onnx && !to_onnx && !args.out.ends_with(".weft") && !has_tensor_ending(args.out)) {
    throw UsageError(fmt::format(
        "{} is an ONNX file, which can be converted to .weft, .onnx, .safetensors or .npz",
        args.model.path));
  }
  if (!args.base.empty() && (to_onnx || has_tensor_ending(args.out)))
    throw UsageError("--base is for adapter folders: --out must name a folder (NAME/)");
}

int run(const ConvertArguments& args, const CommandPaths& paths) {
  check_options(args);
  const bool to_gguf = args.out.ends_with(".gguf"), to_onnx = args.out.ends_with(".onnx");
  if (args.inference) {
    if (!args.adapters.empty() || !args.base.empty() || args.float_inputs) {
      throw UsageError(
          "--inference cannot be combined with --adapters, --base or --drop-activation-rounding");
    }
    const bool to_other = to_gguf || to_onnx || has_tensor_ending(args.out);
    if (is_foreign(args) || to_other) {
      throw UsageError(fmt::format(
          "--inference is for .weft files; {} is {}", to_other ? args.out : args.model.path,
          to_onnx                                         ? "an ONNX file"
          : to_other && !to_gguf                          ? "a file of tensors"
          : fs::is_directory(args.model.path) && !to_gguf ? "a folder"
                                                          : "a GGUF file"));
    }
    return write_inference_file(args, paths);
  }
  if (has_tensor_ending(args.out)) return write_tensors(args, paths);
  if (is_onnx(args)) return convert_onnx(args, paths);
  if (to_onnx) return write_onnx_model(args, paths);
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
  OptionList options(
      app, "convert",
      "Convert a Hugging Face folder, a GGUF or ONNX file or a sharded checkpoint to "
      "one .weft file, a model to a folder, a GGUF or ONNX file or a file of "
      "tensors, or a training checkpoint to an inference-only file");
  const auto args = std::make_shared<ConvertArguments>();
  options
      .input("model", args->model,
             "a folder with config.json, model.safetensors and a tokenizer, an adapter folder of "
             "the PEFT library, a .weft file, a GGUF file, an ONNX file, or a file of tensors "
             "(.safetensors, .npz)")
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
              "to write (NAME.gguf), if the model is a decoder; an ONNX file (NAME.onnx) with one "
              "inference program; or the weights (NAME.safetensors, NAME.npz). For an ONNX file: "
              "a .weft file, an ONNX file of another opset, or the weights")
      .required();
  options.choice(
      "--outtype", {"auto", "f32", "f16", "bf16", "q8_0", "q4_0"},
      [args](const std::string& name) { args->type = parse_choice<gguf::OutType>(name); },
      "for a GGUF file: type of the matrices (default: auto, which keeps their format); vectors, "
      "norms and routers are always f32");
  options.text("--program", args->program,
               "for an ONNX file: the program to write, or logits for the logits of a language "
               "model (default: the first inference program of the model)");
  const AddedOption opset = options.integer(
      "--opset", args->opset, {13, 23}, "for an ONNX file: version of its operators (default: 17)");
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
  options.run(action, [args, opset, &parsed = options.command()] {
    args->opset_given = opset.given();
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
