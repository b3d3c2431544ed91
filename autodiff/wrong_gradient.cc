#include "weft/autodiff/wrong_gradient.h"

#include <fmt/format.h>

#include <optional>

#include "weft/autodiff/retype.h"
#include "weft/core/error.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace weft {
namespace {

// A double-precision copy (`twin`) of every value that `output` is computed from, with the tensors
// that a run computes for these values.
struct CheckedValues {
  CheckedValues(const Value& output, const GradientCheckOptions& options) : twin(make(output)) {
    Session session(*twin.graph, {.seed = options.seed, .threads = 1});
    for (const auto& [name, tensor] : options.variables) {
      if (twin.graph->has_variable(name))
        session.set_value(name, tensor.to(twin.graph->find_variable(name).dtype()));
    }
    NamedTensors feeds;
    for (const Value& input : twin.program.inputs()) {
      for (const auto& [name, tensor] : options.feeds) {
        if (name != input.node().attributes().text("name")) continue;
        feeds.emplace_back(name, tensor.to(input.dtype()));
        for (int axis = 0; axis < input.rank(); ++axis) {
          const SymbolPtr s = input.shape()[axis].as_symbol();
          if (s != nullptr) bindings.bind(s, tensor.size(axis));
        }
      }
    }
    const Results results = session.run(twin.program, feeds);
    for (const auto& [name, value] : twin.program.outputs()) known[value] = results[name].clone();
  }

  static Module make(const Value& output) {
    Program every("every value");
    for (Node* node : reachable_nodes({output})) {
      for (int o = 0; o < node->output_count(); ++o) {
        every.output(std::to_string(every.outputs().size()), node->output(o));
      }
    }
    return program_in_double(every);
  }

  Module twin;
  Bindings bindings;
  std::unordered_map<Value, Tensor, ValueHash> known;
};

// Returns true if the gradient of output `o` of a node of the twin is wrong.
bool is_wrong(Node& node, int o, const CheckedValues& values, const GradientCheckOptions& options) {
  Graph graph(node.graph().shared_ops());
  CloneOptions clone;
  clone.map_symbol = [&](const SymbolPtr& s) -> std::optional<Dim> {
    const auto size = values.bindings.find(*s);
    return size ? std::optional<Dim>(*size) : std::nullopt;
  };
  Cloner cloner(graph, clone);
  GradientCheckOptions alone{.seed = options.seed, .directions = 2, .rules = options.rules};
  std::vector<Value> wrt;
  for (const Value& v : node.inputs()) {
    if (!v.defined() || cloner.find(v).defined()) continue;
    const Tensor& tensor = values.known.at(v);
    if (tensor.dtype() != DType::f64) {
      cloner.set(v, graph.constant(tensor));
      continue;
    }
    const std::string name = fmt::format("operand{}", wrt.size());
    cloner.set(v, graph.input(name, {DType::f64, Shape(tensor.sizes())}));
    wrt.push_back(cloner.find(v));
    alone.feeds.emplace_back(name, tensor);
  }
  if (wrt.empty()) return false;
  const GradientReport report =
      compare_gradients(cloner.copy(node.output(o)), wrt, alone, SourceLocation::current());
  // Finite differences are not conclusive at a kink or a jump.
  return !report && report.elements_checked > 0 &&
         report.message.find("do not converge") == std::string::npos;
}

}  // namespace

std::string first_wrong_gradient(const Value& output, const GradientCheckOptions& options) {
  try {
    const CheckedValues values(output, options);
    std::size_t next = 0;
    for (Node* node : reachable_nodes({output})) {
      for (int o = 0; o < node->output_count(); ++o) {
        const Value twin = values.twin.program.outputs()[next++].second;
        const OpRecord& op = node->op();
        if (op.has(Trait::leaf) || twin.dtype() != DType::f64) continue;
        if (op.gradient == Gradient::none) continue;
        try {
          if (!is_wrong(twin.node(), twin.output(), values, options)) continue;
        } catch (const Error&) {
          continue;  // the op cannot be checked in isolation
        }
        const std::string body =
            op.name == "call" ? fmt::format(" of '{}'", node->attributes().text("body")) : "";
        return fmt::format("{}{}, {}", op.name, body, output.graph().where(*node));
      }
    }
  } catch (const Error&) {
    // There is no result, for example because some values cannot be fetched in a run.
  }
  return "";
}

}  // namespace weft
