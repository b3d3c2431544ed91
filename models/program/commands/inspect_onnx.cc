#include "weft/models/program/commands/inspect_onnx.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/serialization/onnx/onnx.h"

namespace weft::program {
namespace {

void print_description(const std::string& path, const OnnxDescription& file) {
  std::string opsets;
  for (const auto& [domain, version] : file.opsets) {
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "opset" : domain,
                          version);
  }
  say("{}: ONNX, {}, {}{}\n", path,
      short_bytes(static_cast<double>(std::filesystem::file_size(path))), opsets,
      file.producer.empty() ? "" : ", written by " + file.producer);
  for (const auto& port : file.inputs) say("  input      {}: {}\n", port.name, port.type);
  for (const auto& port : file.outputs) say("  output     {}: {}\n", port.name, port.type);
  say("  parameters {}, {}\n", grouped(file.parameters),
      short_bytes(static_cast<double>(file.initializer_bytes)));
  for (const auto& [key, value] : file.metadata) {
    constexpr std::size_t kShown = 100;
    say("  metadata   {}: {}\n", excerpt(key),
        value.size() <= kShown ? excerpt(value, kShown)
                               : short_bytes(static_cast<double>(value.size())));
  }
  for (const auto& op : file.operators) {
    say("  {:>6} x {}{}\n", op.count, op.name,
        op.unsupported.empty() ? "" : " (unsupported: " + op.unsupported + ")");
  }
}

/// Prints the cost of one run. Symbolic axes without a given size have size 1.
void print_cost(const OnnxModel& model, const OnnxInspection& options) {
  const Program& program = model.checkpoint.programs().front();
  Bindings bindings;
  std::set<std::string, std::less<>> known;
  for (const Value& input : program.inputs()) {
    for (const Dim& size : input.shape()) {
      for (const SymbolPtr& symbol : size.symbols()) {
        if (!known.insert(symbol->name).second) continue;
        const auto given = options.sizes.find(symbol->name);
        bindings.bind(symbol, given == options.sizes.end() ? 1 : given->second);
      }
    }
  }
  NamedSizes sizes;
  for (const Value& input : program.inputs()) {
    const Shape& shape = input.shape();
    Sizes numbers;
    for (const Dim& size : shape) numbers.push_back(size.evaluate(bindings));
    sizes.emplace_back(input.node().attributes().text("name"), numbers);
  }
  Session session(model.checkpoint.graph(), {.threads = 1});
  const auto plan = session.plan(program, sizes);
  const MemoryReport memory = plan->memory();
  say("  cost       {} FLOPs, working memory {}, {} nodes{}\n", short_number(plan->cost().flops),
      short_bytes(static_cast<double>(memory.arena + memory.outputs)), program.nodes().size(),
      known.empty() ? "" : " for " + bindings.str());
}

/// Returns true if the type of an input, such as "f32[batch, 2*seq]", contains the symbol.
bool has_symbol(std::string_view type, std::string_view symbol) {
  constexpr std::string_view kBetween = "[], *+-()";
  for (std::size_t at = 0; (at = type.find(symbol, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + symbol.size();
    const bool begins = at > 0 && kBetween.find(type[at - 1]) != std::string_view::npos;
    if (begins && end < type.size() && kBetween.find(type[end]) != std::string_view::npos)
      return true;
  }
  return false;
}

/// Throws UsageError if a size was given for a symbol that the inputs do not have.
void check_sizes(const OnnxDescription& file, const OnnxInspection& options) {
  for (const auto& [name, size] : options.sizes) {
    bool found = false;
    for (const auto& port : file.inputs) found |= has_symbol(port.type, name);
    if (!found)
      throw UsageError(fmt::format("--size {}={}: no input has an axis of this name", name, size));
  }
}

}  // namespace

int inspect_onnx(const std::string& path, const OnnxInspection& options) {
  const OnnxDescription file = describe_onnx(path);
  check_sizes(file, options);
  if (!options.graph && !options.variables) print_description(path, file);
  try {
    const OnnxModel model = read_onnx(path);
    if (options.graph) say("{}", to_text(model.checkpoint.graph(), {.source_locations = true}));
    if (options.variables) {
      for (const Variable& variable : model.checkpoint.graph().variables()) {
        const VariableInfo& info = variable.info();
        say("{:<10} {:<24} {}\n", variable_kind_name(info.kind), info.type.str(), info.name);
      }
    }
    if (!options.graph && !options.variables) print_cost(model, options);
  } catch (const FormatError& e) {
    if (options.graph || options.variables) throw;
    say("  cost       unknown: {}\n", e.what());
  }
  return 0;
}

}  // namespace weft::program
