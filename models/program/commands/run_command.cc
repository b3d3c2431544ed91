#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "weft/autodiff/gradients.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/adapters/base_class.h"
#include "weft/models/hf/folder.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/files/tensor_files.h"
#include "weft/models/program/files/trace_file.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft::program {
namespace {

struct RunArguments {
  ModelPath model;
  std::string inputs, outputs, program, precision = "highest", architecture;
  bool gradients = false, force = false;
  std::size_t max_memory = 0;  // bytes, 0 = unlimited
  Execution execution;
  TraceArguments trace;
};

/// Adds the gradients of `loss` with respect to all parameters as outputs. `loss` is a scalar.
void add_gradients(Program& program, Graph& graph, Value loss,
                   const std::function<std::string(const std::string&)>& name) {
  const std::vector<Variable> parameters = graph.parameters();
  const std::vector<Value> grads = gradients(loss, parameters, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < parameters.size(); ++i)
    program.output("grad." + name(parameters[i].name()), grads[i]);
}

NamedTensors feeds_of(const TensorMap& tensors) { return {tensors.begin(), tensors.end()}; }

void write_results(const OutputFile& file, const Results& results) {
  TensorMap tensors;
  for (const auto& [name, tensor] : results) tensors[name] = tensor;
  write_tensor_file(file, tensors);
  say("wrote {} tensors to {}\n", tensors.size(), file.path());
}

/// Runs a program and writes its outputs.
void run_program(const RunArguments& args, const OutputFile& out, Graph& graph,
                 const std::shared_ptr<VariableStore>& store, const Program& program,
                 const TensorMap& inputs, const SessionOptions& options) {
  Session session(graph, store, options);
  if (args.max_memory > 0) {
    NamedSizes sizes;
    for (const Value& input : program.inputs()) {
      const std::string& name = input.node().attributes().text("name");
      if (const auto found = inputs.find(name); found != inputs.end())
        sizes.emplace_back(name, found->second.sizes());
    }
    const MemoryReport memory = session.plan(program, sizes)->memory();
    const std::size_t needed = memory.arena + memory.outputs;
    if (needed > args.max_memory) {
      throw UsageError(
          fmt::format("this run needs {} of working memory, which exceeds --max-memory "
                      "{}: reduce the sizes of the inputs or increase the limit",
                      short_bytes(static_cast<double>(needed)),
                      short_bytes(static_cast<double>(args.max_memory))));
    }
  }
  write_results(out, session.run(program, feeds_of(inputs)));
}

int run_folder(const RunArguments& args, const OutputFile& out, const SessionOptions& options) {
  std::optional<hf::AdapterFolder> adapters;
  if (hf::is_adapter_folder(args.model)) adapters = hf::read_adapter_folder(args.model);
  hf::Folder folder = hf::read_folder(adapters ? adapters->base() : args.model);
  if (adapters) folder = hf::with_adapter_head(std::move(folder), *adapters);
  const TensorMap inputs = read_tensor_file(args.inputs);
  Graph graph;
  const hf::Model model = hf::with_folder_name(args.model, [&] {
    return hf::build_model(graph, folder.config, hf::input_types(inputs), args.architecture);
  });
  Program program("run");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  std::shared_ptr<VariableStore> store = hf::load_weights(model, graph, folder);
  AdaptedModel adapted;
  if (adapters) {
    adapted = add_lora({program}, *store,
                       hf::match_adapters(*adapters, hf::parameter_names(model, graph), {program},
                                          *store, "a " + model.architecture));
    program = adapted.programs.front();
    store = adapted.store;
  }
  Graph& whole = adapters ? *adapted.graph : graph;
  if (args.gradients) {
    const auto loss = std::find_if(program.outputs().begin(), program.outputs().end(),
                                   [](const auto& output) { return output.first == "loss"; });
    if (loss == program.outputs().end()) {
      throw UsageError(fmt::format("--gradients needs a loss, but {} contains no labels for {}",
                                   args.inputs, model.architecture));
    }
    add_gradients(program, whole, loss->second,
                  [&](const std::string& name) { return hf::adapter_tensor_name(name, model); });
  }
  run_program(args, out, whole, store, program, inputs, options);
  return 0;
}

/// Adds the gradients of the output "loss".
void add_loss_gradients(Program& program, Graph& graph) {
  const auto loss = std::find_if(program.outputs().begin(), program.outputs().end(),
                                 [](const auto& output) { return output.first == "loss"; });
  if (loss == program.outputs().end()) {
    throw UsageError(fmt::format(
        "--gradients needs an output \"loss\", which program {} does not have", program.name()));
  }
  add_gradients(program, graph, loss->second, [](const std::string& name) { return name; });
}

int run_onnx(const RunArguments& args, const OutputFile& out, SessionOptions options) {
  TensorMap inputs = read_tensor_file(args.inputs);
  OnnxReadOptions reading{.input_values = inputs, .fixed_sizes = true};
  if (args.max_memory > 0) reading.max_memory = args.max_memory;
  const OnnxModel model = read_onnx(args.model, reading);
  for (const std::string& name : model.fixed_inputs) inputs.erase(name);
  Program program = model.checkpoint.programs().front();
  if (args.gradients) add_loss_gradients(program, model.checkpoint.graph());
  options.own_keys = true;
  run_program(args, out, model.checkpoint.graph(), model.checkpoint.store(), program, inputs,
              options);
  return 0;
}

/// Returns the requested program. By default, returns the first program that has no updates and
/// whose inputs are all given.
const Program& choose_program(const RunArguments& args, const Checkpoint& file,
                              const TensorMap& inputs) {
  if (!args.program.empty()) return file.program(args.program);
  for (const Program& program : file.programs()) {
    bool fits = program.given_updates().empty();
    for (const Value& input : program.inputs())
      fits = fits && inputs.contains(input.node().attributes().text("name"));
    if (fits) return program;
  }
  throw UsageError(fmt::format(
      "no program without updates in {} can run on the tensors in {}: select one with --program",
      args.model.path, args.inputs));
}

int run_file(const RunArguments& args, const OutputFile& out, SessionOptions options) {
  const Checkpoint file = load_checkpoint(args.model, {.verify = true, .once = !args.model.verify});
  const TensorMap inputs = read_tensor_file(args.inputs);
  Program program = choose_program(args, file, inputs);
  if (args.gradients) add_loss_gradients(program, file.graph());
  options.own_keys = true;
  run_program(args, out, file.graph(), file.store(), program, inputs, options);
  return 0;
}

int run(RunArguments& args, CommandPaths paths) {
  const bool folder = hf::is_folder(args.model);
  const bool onnx = !folder && is_onnx_file(args.model);
  if ((folder || onnx) && !args.program.empty()) {
    throw UsageError(fmt::format("--program is for .weft files; {} is {}", args.model.path,
                                 folder ? "a folder" : "an ONNX file"));
  }
  if (!folder && !args.architecture.empty())
    throw UsageError(
        fmt::format("--architecture is for folders; {} is not a folder", args.model.path));
  const OutputFile out = plan_tensor_file(paths, "--outputs", args.outputs);
  TraceFile trace(args.trace, paths);
  args.execution.trace = trace.trace();
  SessionOptions options = session_options(args.execution);
  options.precision = parse_precision(args.precision);
  const int code = folder ? run_folder(args, out, options)
                   : onnx ? run_onnx(args, out, options)
                          : run_file(args, out, options);
  trace.write({});
  return code;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  OptionList options(app, "run", "Run a model on tensors from a file");
  const auto args = std::make_shared<RunArguments>();
  options
      .input("model", args->model,
             "a Hugging Face folder, an adapter folder of the PEFT library, a .weft file, or an "
             "ONNX file (inputs become constants if their values determine shapes)")
      .required();
  options
      .input("--inputs", args->inputs,
             "safetensors or .npz file with the inputs, which are identified by name")
      .required();
  options.output("--outputs", args->outputs, "safetensors or .npz file to write").required();
  options.flag("--force", args->force,
               "replace an existing file of another type that has this name");
  options.flag(
      "--gradients", args->gradients,
      "also write the gradient of the loss for every trainable parameter, as grad.<parameter>");
  options.choice("--precision", {"highest", "high", "medium"}, args->precision,
                 "precision of matrix products (default: highest)");
  options.text("--architecture", args->architecture,
               "model class to build from a folder (default: the one in config.json)");
  options.text(
      "--program", args->program,
      "program of the .weft file to run (default: the first program that can run on these inputs)");
  options.bytes("--max-memory", args->max_memory,
                "maximum working memory of the run, for example 8G: an error before the run if it "
                "needs more (default: unlimited)");
  options.execution(args->execution);
  args->trace.add(options, "runs to record (default: all)");
  options.run(action, [args, &parsed = options.command()] {
    return run(*args, CommandPaths(parsed, args->force));
  });
}

}  // namespace weft::program
