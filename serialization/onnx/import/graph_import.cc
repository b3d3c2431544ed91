#include "weft/serialization/onnx/import/graph_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/onnx/import/composites.h"
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {
namespace {

// Adds the names that a graph uses, including those of values that it defines.
void add_names_of(const onnx_proto::Graph& graph, std::unordered_set<std::string>& names);

void add_operands_of(const onnx_proto::Node& node, std::unordered_set<std::string>& names) {
  for (const std::string& input : node.input()) names.insert(input);
  if (node.op_type() == "Gradient")  // its attributes name values
    for (const auto& attribute : node.attribute()) {
      names.insert(attribute.s());
      names.insert(attribute.strings().begin(), attribute.strings().end());
    }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_names_of(attribute.g(), names);
    for (const auto& graph : attribute.graphs()) add_names_of(graph, names);
  }
}

void add_names_of(const onnx_proto::Graph& graph, std::unordered_set<std::string>& names) {
  for (const auto& node : graph.node()) add_operands_of(node, names);
  for (const auto& output : graph.output()) names.insert(output.name());
}

// Functions and bodies that are being translated. Functions must not call themselves.
class Nesting {
 public:
  explicit Nesting(FileImport& file) : file_(file) {
    if (file_.depth >= kMaxDepth) {
      throw FormatError(fmt::format(
          "functions and bodies are nested more than {} times, or call themselves", kMaxDepth));
    }
    ++file_.depth;
  }
  ~Nesting() { --file_.depth; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static constexpr int kMaxDepth = 64;
  FileImport& file_;
};

}  // namespace

Nodes pointers_to(const google::protobuf::RepeatedPtrField<onnx_proto::Node>& nodes) {
  Nodes pointers;
  for (const auto& node : nodes) pointers.push_back(&node);
  return pointers;
}

GraphImport::GraphImport(FileImport& file, const Opsets& opsets, GraphImport* outer,
                         std::string description)
    : file_(file), opsets_(opsets), outer_(outer), description_(std::move(description)) {}

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
  Initializer& initializer = scope->initializers_.at(name);
  const Message* message = initializer.message();
  // A body that is unrolled has the same variables in every step.
  const auto known = file_.initializers.find(message);
  if (known != file_.initializers.end()) return known->second;
  const Tensor& tensor = scope->read(name, initializer);
  const Graph::Outside outside(graph());
  const std::string mark = initializer.mark();
  as_buffer |= mark == kBufferMark;
  const bool is_variable =
      is_floating(tensor.dtype()) && mark != kConstantMark &&
      (as_buffer || tensor.rank() > 0 || mark == kParameterMark || mark == kFrozenMark);
  const Value value =
      is_variable ? file_.add_variable(name, tensor,
                                       as_buffer ? VariableKind::buffer : VariableKind::parameter,
                                       mark != kFrozenMark)
                  : graph().constant(tensor);
  file_.materialised.push_back(message);
  return file_.initializers.emplace(message, value).first->second;
}

GraphImport::Attempt::Attempt(FileImport& file)
    : file_(file), materialised_(file.materialised.size()) {}

GraphImport::Attempt::~Attempt() {
  if (kept_) return;
  file_.known.forget();
  for (; file_.materialised.size() > materialised_; file_.materialised.pop_back())
    file_.initializers.erase(file_.materialised.back());
}

void GraphImport::nodes(const Nodes& nodes, const std::vector<std::string>& needed) {
  used_.insert(needed.begin(), needed.end());
  std::vector<bool> is_needed(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (const std::string& output : nodes[i]->output()) {
      if (output.empty() || used_.count(output) == 0) continue;
      is_needed[i] = true;
      add_operands_of(*nodes[i], used_);
      break;
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (is_needed[i]) node(*nodes[i], static_cast<int>(i) + 1);
}

void GraphImport::node(const onnx_proto::Node& node, int number) {
  const std::string name = node.name().empty()
                               ? operator_name(node)
                               : fmt::format("{} '{}'", operator_name(node), excerpt(node.name()));
  const Graph::Frame frame(graph(), name, SourceLocation{file_.path.c_str(), number}, node.name());
  try {
    file_.count_node();
    // Computations of sizes in a body are added to the main graph, so that their results are known.
    std::optional<Graph::Outside> outside;
    if (&graph().building() != &graph() && computes_sizes(node)) outside.emplace(graph());
    define_outputs(node, translate(node));
  } catch (const Error& e) {
    // The message names only the outermost and the innermost of deeply nested nodes.
    const bool is_innermost = std::string_view(e.what()).find(file_.path) != 0;
    const std::string message =
        is_innermost || file_.depth < 3
            ? fmt::format("{}:{}, {}: {}", file_.path, number, name, e.what())
            : std::string(e.what());
    throw_for_file(e, message);
  }
}

bool GraphImport::computes_sizes(const onnx_proto::Node& node) {
  for (const auto& attribute : node.attribute())
    if (attribute.has_g()) return false;
  for (const std::string& input : node.input()) {
    if (input.empty() || is_absent(input)) continue;
    const ImportedValue& operand = value(input);
    if (operand.kind != ImportedValue::Kind::tensor || !is_integer(operand.tensor.dtype()) ||
        &operand.tensor.graph() != &graph() || !file_.known.dims(operand.tensor))
      return false;
  }
  return node.input_size() > 0;
}

void GraphImport::define_outputs(const onnx_proto::Node& node,
                                 const std::vector<ImportedValue>& outputs) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    const auto index = static_cast<std::size_t>(i);
    if (name.empty()) continue;
    if (index < outputs.size() && outputs[index].exists()) {
      const bool is_tensor = outputs[index].kind == ImportedValue::Kind::tensor;
      define(name, is_tensor ? fused(outputs[index].tensor) : outputs[index]);
    } else if (is_used(name)) {
      throw FormatError(fmt::format("output {} ('{}') is not supported", i, excerpt(name)));
    }
  }
}

bool GraphImport::is_absent(const std::string& name) {
  GraphImport* scope = scope_of(name);
  if (scope == nullptr) return false;
  const auto found = scope->values_.find(name);
  return found != scope->values_.end() && !found->second.exists();
}

std::vector<ImportedValue> GraphImport::translate(const onnx_proto::Node& node) {
  if (const FileFunction* function = file_.find_function(node)) return call(*function, node);
  const OperatorLookup found = look_up(node, opsets_);
  if (found.op == nullptr) throw FormatError(found.unsupported);
  NodeImport import(*this, node, found.opset);
  std::vector<ImportedValue> outputs = found.op->translate(import);
  import.check_all_read();
  return outputs;
}

std::vector<ImportedValue> GraphImport::call(const FileFunction& callee,
                                             const onnx_proto::Node& node) {
  const onnx_proto::Function& function = *callee.function;
  const Nesting nesting(file_);
  if (node.input_size() > function.input_size()) {
    throw FormatError(fmt::format("the call has {} operands, but the function has {} inputs",
                                  node.input_size(), function.input_size()));
  }
  for (const auto& attribute : node.attribute()) {
    const auto is_declared = [&](const auto& names) {
      return std::find(names.begin(), names.end(), attribute.name()) != names.end();
    };
    std::vector<std::string> with_defaults;
    for (const auto& a : function.attribute_proto()) with_defaults.push_back(a.name());
    if (!is_declared(function.attribute()) && !is_declared(with_defaults)) {
      throw FormatError(
          fmt::format("the function has no attribute '{}'", excerpt(attribute.name())));
    }
  }
  GraphImport inside(file_, callee.opsets, nullptr,
                     fmt::format("function {}", excerpt(function.name())));
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < node.input_size() && !node.input(i).empty() && !is_absent(node.input(i));
    inside.define(function.input(i), given ? value(node.input(i)) : ImportedValue());
  }
  Nodes nodes;
  for (const auto& n : function.node()) nodes.push_back(&file_.bind_attributes(n, function, node));
  inside.nodes(nodes, {function.output().begin(), function.output().end()});
  std::vector<ImportedValue> outputs;
  for (const std::string& name : function.output()) outputs.push_back(inside.value(name));
  return outputs;
}

std::vector<ImportedValue> GraphImport::body(const onnx_proto::Graph& body,
                                             const std::vector<ImportedValue>& inputs,
                                             std::string description) {
  const Nesting nesting(file_);
  if (static_cast<std::size_t>(body.input_size()) != inputs.size()) {
    throw FormatError(fmt::format("{} has {} inputs instead of {}", description, body.input_size(),
                                  inputs.size()));
  }
  GraphImport inside(file_, opsets_, this, std::move(description));
  inside.initializers(body);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inside.define(body.input(static_cast<int>(i)).name(), inputs[i]);
  std::vector<std::string> names;
  for (const auto& output : body.output()) names.push_back(output.name());
  inside.nodes(pointers_to(body.node()), names);
  std::vector<ImportedValue> outputs;
  for (const std::string& name : names) outputs.push_back(inside.value(name));
  return outputs;
}

}  // namespace weft::onnx
