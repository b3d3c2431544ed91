#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/models/hf/folder.h"
#include "weft/models/program/commands.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
namespace {

struct RunArguments {
  std::string model, inputs, outputs, program, precision = "highest", architecture;
  bool gradients = false;
  int threads = 0;
};

/// "loss" must be there, a scalar that depends on the inputs.
void add_gradients(Program& program, Graph& graph, Value loss,
                   const std::function<std::string(const std::string&)>& name) {
  const std::vector<Variable> parameters = graph.parameters();
  const std::vector<Value> grads = gradients(loss, parameters, {.unreachable = Unreachable::zeros});
  for (std::size_t i = 0; i < parameters.size(); ++i)
    program.output("grad." + name(parameters[i].name()), grads[i]);
}

NamedTensors feeds_of(const TensorMap& tensors) { return {tensors.begin(), tensors.end()}; }

void write_results(const std::string& path, const Results& results) {
  TensorMap tensors;
  for (const auto& [name, tensor] : results) tensors[name] = tensor;
  write_safetensors(path, tensors);
  fmt::print("wrote {} tensors to {}\n", tensors.size(), path);
}

int run_folder(const RunArguments& args, const SessionOptions& options) {
  const hf::Folder folder = hf::read_folder(args.model);
  const TensorMap inputs = read_safetensors(args.inputs).tensors;
  Graph graph;
  const hf::Model model =
      hf::build_model(graph, folder.config, hf::input_types(inputs), args.architecture);
  Program program("run");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  if (args.gradients) {
    const auto loss = model.outputs.find("loss");
    if (loss == model.outputs.end()) {
      throw UsageError(fmt::format("--gradients needs a loss, but {} holds no labels for {}",
                                   args.inputs, model.architecture));
    }
    add_gradients(program, graph, loss->second,
                  [&](const std::string& name) { return model.names.theirs(name); });
  }
  Session session(graph, hf::load_weights(model, graph, folder), options);
  write_results(args.outputs, session.run(program, feeds_of(inputs)));
  return 0;
}

/// The program asked for, or the first without updates whose inputs are all given.
const Program& choose_program(const RunArguments& args, const Checkpoint& file,
                              const TensorMap& inputs) {
  if (!args.program.empty()) return file.program(args.program);
  for (const Program& program : file.programs()) {
    bool fits = program.given_updates().empty();
    for (const Value& input : program.inputs())
      fits = fits && inputs.contains(input.node().attributes().text("name"));
    if (fits) return program;
  }
  throw UsageError(
      fmt::format("no program of {} reads just the tensors of {}: name one with --program",
                  args.model, args.inputs));
}

int run_file(const RunArguments& args, SessionOptions options) {
  const Checkpoint file = load_checkpoint(args.model);
  const TensorMap inputs = read_safetensors(args.inputs).tensors;
  Program program = choose_program(args, file, inputs);
  if (args.gradients) {
    Value loss;
    for (const auto& [name, value] : program.outputs()) {
      if (name == "loss") loss = value;
    }
    if (!loss.defined()) {
      throw UsageError(fmt::format(
          "--gradients needs an output \"loss\", which program {} does not have", program.name()));
    }
    add_gradients(program, file.graph(), loss, [](const std::string& name) { return name; });
  }
  options.own_keys = true;
  Session session(file.graph(), file.store(), options);
  write_results(args.outputs, session.run(program, feeds_of(inputs)));
  return 0;
}

int run(const RunArguments& args) {
  SessionOptions options{.threads = args.threads};
  try {
    options.precision = parse_precision(args.precision);
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
  return std::filesystem::is_directory(args.model) ? run_folder(args, options)
                                                   : run_file(args, options);
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a model on tensors from a file");
  const auto args = std::make_shared<RunArguments>();
  command->add_option("model", args->model, "a Hugging Face folder, or a .weft file")->required();
  command->add_option("--inputs", args->inputs, "safetensors file with the inputs, by name")
      ->required();
  command->add_option("--outputs", args->outputs, "safetensors file to write")->required();
  command->add_flag("--gradients", args->gradients,
                    "also write grad.<parameter> of the loss for every trainable parameter");
  command->add_option("--precision", args->precision, "of matrix products: highest, high, medium")
      ->capture_default_str();
  command->add_option("--architecture", args->architecture,
                      "class to build from a folder (default: the one in config.json)");
  command->add_option("--program", args->program,
                      "program of a file to run (default: one that reads these inputs)");
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
