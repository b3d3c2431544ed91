#include "weft/serialization/onnx/import/graph_import.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/onnx/import/composites.h"
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kNewestOpset = 23;

// Adds the names that a graph uses, including the names of its own values.
void add_names_of(const onnx_proto::Graph& graph, std::unordered_set<std::string>& names);

void add_operands_of(const onnx_proto::Node& node, std::unordered_set<std::string>& names) {
  for (const std::string& input : node.input()) names.insert(input);
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_names_of(attribute.g(), names);
    for (const auto& graph : attribute.graphs()) add_names_of(graph, names);
  }
}

void add_names_of(const onnx_proto::Graph& graph, std::unordered_set<std::string>& names) {
  for (const auto& node : graph.node()) add_operands_of(node, names);
  for (const auto& output : graph.output()) names.insert(output.name());
}

std::string operator_name(const onnx_proto::Node& node) {
  const std::string_view domain = canonical_domain(node.domain());
  return excerpt(domain.empty() ? node.op_type() : fmt::format("{}.{}", domain, node.op_type()));
}

}  // namespace

GraphImport::GraphImport(FileImport& file, Opsets opsets, GraphImport* outer,
                         std::string description)
    : file_(file),
      opsets_(std::move(opsets)),
      outer_(outer),
      description_(std::move(description)) {}

void GraphImport::initializers(const onnx_proto::Graph& graph) {
  const auto add = [&](const std::string& name, Initializer initializer) {
    if (!initializers_.emplace(name, std::move(initializer)).second) {
      throw FormatError(fmt::format("{}: two initialisers are named '{}' in {}", file_.path,
                                    excerpt(name), description_));
    }
  };
  for (const auto& tensor : graph.initializer()) add(tensor.name(), {.dense = &tensor});
  for (const auto& tensor : graph.sparse_initializer())
    add(tensor.values().name(), {.sparse = &tensor});
}

void GraphImport::define(const std::string& name, ImportedValue value) {
  if (initializers_.count(name) != 0 || !values_.emplace(name, std::move(value)).second) {
    throw FormatError(fmt::format("two values are named '{}' in {}", excerpt(name), description_));
  }
}

GraphImport* GraphImport::scope_of(const std::string& name) {
  GraphImport* scope = this;
  while (scope != nullptr && scope->values_.count(name) == 0 &&
         scope->initializers_.count(name) == 0) {
    scope = scope->outer_;
  }
  return scope;
}

const Tensor& GraphImport::read(const std::string& name, Initializer& initializer) {
  if (!initializer.tensor.defined()) {
    const std::string what = fmt::format("initialiser '{}'", excerpt(name));
    initializer.tensor = initializer.dense != nullptr ? file_.reader.read(*initializer.dense, what)
                                                      : file_.reader.read(*initializer.sparse, what,
                                                                          file_.options.max_memory);
  }
  return initializer.tensor;
}

std::optional<Tensor> GraphImport::initializer(const std::string& name) {
  GraphImport* scope = scope_of(name);
  if (scope == nullptr) return std::nullopt;
  const auto found = scope->initializers_.find(name);
  if (found == scope->initializers_.end()) return std::nullopt;
  return scope->read(name, found->second);
}

const ImportedValue& GraphImport::value(const std::string& name, bool as_buffer) {
  GraphImport* scope = scope_of(name);
  if (scope == nullptr) {
    throw FormatError(fmt::format("'{}' is used before it is defined in {}, or not defined",
                                  excerpt(name), description_));
  }
  const auto found = scope->values_.find(name);
  if (found != scope->values_.end()) return found->second;
  const Tensor& tensor = scope->read(name, scope->initializers_.at(name));
  const Graph::Outside outside(graph());
  const Value value =
      is_floating(tensor.dtype()) && (as_buffer || tensor.rank() > 0)
          ? file_.add_variable(name, tensor,
                               as_buffer ? VariableKind::buffer : VariableKind::parameter)
          : graph().constant(tensor);
  return scope->values_.emplace(name, value).first->second;
}

void GraphImport::nodes(const Nodes& nodes, const std::vector<std::string>& needed) {
  used_.insert(needed.begin(), needed.end());
  std::vector<bool> is_needed(static_cast<std::size_t>(nodes.size()));
  for (int i = nodes.size() - 1; i >= 0; --i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty() || used_.count(output) == 0) continue;
      is_needed[static_cast<std::size_t>(i)] = true;
      add_operands_of(nodes[i], used_);
      break;
    }
  }
  for (int i = 0; i < nodes.size(); ++i)
    if (is_needed[static_cast<std::size_t>(i)]) node(nodes[i], i + 1);
}

void GraphImport::node(const onnx_proto::Node& node, int number) {
  const std::string name = node.name().empty()
                               ? operator_name(node)
                               : fmt::format("{} '{}'", operator_name(node), excerpt(node.name()));
  const Graph::Frame frame(graph(), name, SourceLocation{file_.path.c_str(), number}, node.name());
  try {
    const std::vector<ImportedValue> outputs = translate(node);
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& output = node.output(i);
      const auto index = static_cast<std::size_t>(i);
      const bool exists =
          index < outputs.size() &&
          (outputs[index].kind != ImportedValue::Kind::tensor || outputs[index].tensor.defined());
      if (exists && !output.empty()) {
        const bool is_tensor = outputs[index].kind == ImportedValue::Kind::tensor;
        define(output, is_tensor ? fused(outputs[index].tensor) : outputs[index]);
      }
      if (!exists && is_used(output) && !output.empty()) {
        throw FormatError(fmt::format("output {} ('{}') is not supported", i, excerpt(output)));
      }
    }
  } catch (const Error& e) {
    const std::string message = fmt::format("{}:{}, {}: {}", file_.path, number, name, e.what());
    // Files that cannot be read and exhausted memory keep their types.
    if (dynamic_cast<const IoError*>(&e) != nullptr ||
        dynamic_cast<const StateError*>(&e) != nullptr)
      e.rethrow_as(message);
    throw FormatError(message);
  }
}

std::vector<ImportedValue> GraphImport::translate(const onnx_proto::Node& node) {
  const std::string_view domain = canonical_domain(node.domain());
  const Operator* op = find_operator(domain, node.op_type());
  const auto opset = opsets_.find(domain);
  if (op == nullptr) {
    throw FormatError(fmt::format("operator {} of {} is not supported", excerpt(node.op_type()),
                                  domain.empty() ? "the default domain" : excerpt(domain)));
  }
  if (opset == opsets_.end()) {
    throw FormatError(fmt::format("the file does not declare a version of {}",
                                  domain.empty() ? "the default domain" : excerpt(domain)));
  }
  if (domain.empty() && opset->second > kNewestOpset) {
    throw FormatError(fmt::format("opset {} is not supported; the newest supported one is {}",
                                  opset->second, kNewestOpset));
  }
  if (opset->second < op->since) {
    throw FormatError(
        fmt::format("{} of opset {} is not supported; its meaning changed in opset {}",
                    node.op_type(), opset->second, op->since));
  }
  NodeImport import(*this, node, opset->second);
  std::vector<ImportedValue> outputs = op->translate(import);
  import.check_all_read();
  return outputs;
}

}  // namespace weft::onnx
