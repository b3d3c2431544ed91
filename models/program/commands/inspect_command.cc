#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "weft/core/error.h"
#include "weft/graph/distributed/parts_text.h"
#include "weft/graph/text/text.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/gguf/model.h"
#include "weft/models/hf/folder.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/inspect_folder.h"
#include "weft/models/program/commands/inspect_gguf.h"
#include "weft/models/program/commands/inspect_model.h"
#include "weft/models/program/commands/inspect_onnx.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/saved_file.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

struct InspectArguments {
  ModelPath file;
  bool graph = false, programs = false, variables = false;
  std::int64_t split = 0;
  std::vector<std::string> sizes;  // "batch=8"
};

/// Parses the values of --size.
std::map<std::string, std::int64_t, std::less<>> parse_sizes(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    std::int64_t size = -1;
    if (at != std::string::npos) {
      const char* end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data() + at + 1, end, size);
      if (error != std::errc() || stop != end) size = -1;
    }
    if (size < 0 || at == 0)
      throw UsageError(fmt::format("--size {}: NAME=NUMBER expected, such as batch=8", text));
    sizes[text.substr(0, at)] = size;
  }
  return sizes;
}

void print_summary(const InspectArguments& args, const Checkpoint& file) {
  say("{}: {}, written by {}\n", args.file.path,
      short_bytes(static_cast<double>(checkpoint_bytes(args.file))), file.producer());
  struct Total {
    std::int64_t count = 0, elements = 0;
    double bytes = 0;
  };
  std::map<VariableKind, Total> totals;
  for (const auto& [name, tensor] : file.tensors()) {
    Total& total = totals[file.graph().find_variable(name).info().kind];
    ++total.count;
    total.elements += tensor.numel();
    total.bytes += static_cast<double>(tensor.bytes());
  }
  for (const auto& [kind, total] : totals) {
    say("  {:<10} {} variables, {} elements, {}\n", variable_kind_name(kind), total.count,
        grouped(total.elements), short_bytes(total.bytes));
  }
  say("  graph      {} nodes\n", file.graph().node_count());
  std::string names;
  for (const Program& program : file.programs())
    names += (names.empty() ? "" : ", ") + program.name();
  say("  programs   {}\n", names);
  for (const Attachment& a : file.attachments()) {
    constexpr std::size_t kShown = 60;
    say("  attached   {} ({}, {}){}\n", a.name, a.type,
        short_bytes(static_cast<double>(a.bytes.size())),
        a.bytes.size() <= 4 * kShown ? ": " + a.bytes : "");
  }
}

/// Prints the number of parameters for one element of an input, usually a token, if some experts
/// are not chosen for it.
void print_active(const Program& program) {
  if (program.inputs().empty()) return;
  std::vector<Dim> tokens;
  for (const Value& input : program.inputs()) {
    tokens.emplace_back(1);
    for (const Dim& size : input.shape()) tokens.back() = tokens.back() * size;
  }
  const std::int64_t active = count_active_parameters(program, tokens),
                     all = count_parameters(*program.graph());
  if (active < all) say("  active  {} of {} parameters per token\n", grouped(active), grouped(all));
}

void print_programs(const Checkpoint& file) {
  for (const Program& program : file.programs()) {
    say("program {}: {} nodes, precision {}{}\n", program.name(), program.nodes().size(),
        program.precision() ? precision_name(*program.precision()) : "of the session",
        program.is_batch_invariant() ? ", batch-invariant" : "");
    for (const Value& input : program.inputs()) {
      say("  input   {}: {}\n", input.node().attributes().text("name"), input.type().str());
    }
    for (const auto& [name, value] : program.outputs())
      say("  output  {}: {}\n", name, value.type().str());
    print_active(program);
    std::map<VariableKind, int> updated;
    for (const auto& [variable, value] : program.updates()) ++updated[variable.info().kind];
    for (const auto& [kind, count] : updated)
      say("  updates {} {} variables\n", count, variable_kind_name(kind));
  }
}

void print_parts(const InspectArguments& args, const Checkpoint& file) {
  bool any = false;
  for (const Program& program : file.programs()) {
    if (program.shards().count == 1) continue;
    any = true;
    try {
      say("{}", parts_text(program, {.ranks = static_cast<int>(args.split)}));
    } catch (const ArgumentError& e) {
      throw UsageError(fmt::format("--split {}: {}", args.split, e.what()));
    }
  }
  if (!any)
    throw UsageError(fmt::format("no program in {} has shards for --split", args.file.path));
}

void print_variables(const Checkpoint& file) {
  for (const Variable& variable : file.graph().variables()) {
    const VariableInfo& info = variable.info();
    std::string aliases;
    for (const std::string& alias : info.aliases) aliases += " = " + alias;
    const bool frozen = info.kind == VariableKind::parameter && !info.trainable;
    say("{:<10} {:<24} {}{}{}\n", variable_kind_name(info.kind), info.type.str(), info.name,
        aliases, frozen ? " (frozen)" : "");
  }
}

void print_saved_variables(const std::vector<SavedVariable>& variables) {
  for (const SavedVariable& v : variables) {
    std::string aliases;
    for (const std::string& alias : v.aliases) aliases += " = " + alias;
    const bool frozen = v.kind == VariableKind::parameter && !v.trainable;
    say("{:<10} {:<24} {}{}{}\n", variable_kind_name(v.kind), v.type, v.name, aliases,
        frozen ? " (frozen)" : "");
  }
}

/// Prints a file that contains operations unknown to this program. The types of values are omitted,
/// because they can be computed only with the shape rules of these operations.
void print_saved_file(const InspectArguments& args, const SavedFile& file) {
  say("{}: {}, written by {}\n", args.file.path,
      short_bytes(static_cast<double>(checkpoint_bytes(args.file))), file.producer);
  std::string unknown;
  for (const std::string& op : file.unknown_ops) unknown += (unknown.empty() ? "" : ", ") + op;
  say("  operations unknown to this program: {}\n", unknown);
  const bool summary = !args.graph && !args.programs && !args.variables;
  if (summary) {
    say("  variables  {}\n", file.variables.size());
    say("  graph      {} nodes\n", file.nodes.size());
    std::string names;
    for (const SavedProgram& p : file.programs) names += (names.empty() ? "" : ", ") + p.name;
    say("  programs   {}\n", names);
  }
  if (args.programs) {
    for (const SavedProgram& p : file.programs) {
      say("program {}:\n", p.name);
      for (const std::string& output : p.outputs) say("  output  {}\n", output);
      say("  updates {} variables\n", p.updates.size());
    }
  }
  if (args.variables) print_saved_variables(file.variables);
  if (args.graph) {
    for (const std::string& input : file.inputs) say("input %{}\n", input);
    for (const std::string& node : file.nodes) say("{}\n", node);
  }
}

/// Prints the file and returns true if it is intact and merely contains operations unknown to this
/// program. Otherwise prints the variables, if they can be read, and returns false.
bool print_with_unknown_ops(const InspectArguments& args) {
  try {
    const SavedFile file = read_saved_file(args.file);
    if (!file.unknown_ops.empty()) {
      print_saved_file(args, file);
      return true;
    }
  } catch (const FormatError&) {  // the first error is more informative
  }
  try {
    print_saved_variables(saved_variables(args.file));
  } catch (const FormatError&) {
  }
  return false;
}

int inspect(const InspectArguments& args) {
  if (std::filesystem::is_regular_file(args.file.path) && is_onnx_file(args.file)) {
    if (args.programs || args.split > 0) {
      throw UsageError(fmt::format("--programs and --split are for .weft files; {} is an ONNX file",
                                   args.file.path));
    }
    return inspect_onnx(
        args.file,
        {.graph = args.graph, .variables = args.variables, .sizes = parse_sizes(args.sizes)});
  }
  if (!args.sizes.empty())
    throw UsageError(fmt::format("--size is for ONNX files; {} is not one", args.file.path));
  const bool gguf_file = gguf::is_gguf(args.file);
  if (gguf_file || hf::is_folder(args.file)) {
    if (args.graph || args.programs || args.split > 0) {
      throw UsageError(
          fmt::format("--graph, --programs and --split are for .weft files; convert {} first "
                      "(weft convert)",
                      args.file.path));
    }
    return gguf_file ? inspect_gguf(args.file.path, args.variables)
                     : inspect_folder(args.file, args.variables);
  }
  std::optional<Checkpoint> loaded;
  try {
    loaded.emplace(load_checkpoint(args.file, {.verify = true, .once = !args.file.verify}));
  } catch (const FormatError&) {
    if (print_with_unknown_ops(args)) return 0;
    throw;
  }
  const Checkpoint& file = *loaded;
  if (!args.graph && !args.programs && !args.variables && args.split == 0)
    print_summary(args, file);
  if (args.programs) print_programs(file);
  if (args.variables) print_variables(file);
  if (args.graph) say("{}", to_text(file.graph(), {.source_locations = true}));
  if (args.split > 0) print_parts(args, file);
  return 0;
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  OptionList options(
      app, "inspect",
      "Describe a .weft file, a GGUF or ONNX file or a Hugging Face folder, or estimate the cost "
      "of a published model");
  const auto args = std::make_shared<InspectArguments>();
  const auto planned = std::make_shared<ModelInspection>();
  const AddedOption file = options.input(
      "file", args->file, "the .weft file, a GGUF or ONNX file, or a Hugging Face folder");
  // Options for a file and options for a published model cannot be combined.
  const std::vector<AddedOption> of_file = {
      options.flag("--graph", args->graph, "print the graph as text, with source lines"),
      options.flag("--programs", args->programs, "print the programs: inputs, outputs, updates"),
      options.flag(
          "--variables", args->variables,
          "print the variables (or the tensors of a GGUF file or folder): kind, type, name"),
      options.texts("--size", args->sizes, OptionList::Times::repeated,
                    "size of a symbolic axis of an ONNX file, as NAME=NUMBER (repeatable; default: "
                    "1), for the printed cost"),
      options.integer("--split", args->split, {1, 1 << 20},
                      "print the programs with shards as text, in the form that rank 0 runs if "
                      "there are this number of ranks")};
  options.text("--model", planned->model,
               "a published model instead of a file (gpt2, bert-base, ...)");
  std::vector<AddedOption> of_model = {
      options.integer("--batch", planned->batch, kFromOne, "rows per batch (default: 1)"),
      options.integer("--seq", planned->seq, {1, std::int64_t{1} << 40},
                      "tokens per row, for text models (default: 128)"),
      options.choice("--precision", {"highest", "high", "medium"}, planned->precision,
                     "precision of matrix products (default: highest)")};
  const AddedOption ranks =
      options.integer("--ranks", planned->ranks, {1, 1 << 20},
                      "print the memory and traffic of a training step on this number of ranks "
                      "(processes or machines)");
  options
      .integer("--shards", planned->shards, {1, 1 << 20},
               "shards of the training batch, each of --batch rows (default: one per rank, rounded "
               "up to a power of two)")
      .needs(ranks);
  of_model.push_back(ranks);  // options that depend on --ranks are then rejected as well
  options.then([args, planned, file, of_file, of_model, &action] {
    if (args->file.path.empty() == planned->model.empty()) {
      throw UsageError("inspect needs a file, or --model with the name of a published model");
    }
    if (args->file.verify && !file.given())
      throw UsageError("--verify applies to a file, not to --model");
    for (const AddedOption& option : file.given() ? of_model : of_file) {
      if (option.given()) {
        throw UsageError(
            fmt::format("{} applies to {}", option.name(),
                        file.given() ? "--model, not to a file" : "a file, not to --model"));
      }
    }
    if (planned->model.empty()) {
      action = [args] { return inspect(*args); };
    } else {
      action = [planned] { return inspect_model(*planned); };
    }
  });
}

}  // namespace weft::program
