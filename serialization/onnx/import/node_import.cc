#include "weft/serialization/onnx/import/node_import.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/onnx/import/graph_import.h"

namespace weft::onnx {
namespace {

using Kind = onnx_proto::Attribute;

std::string_view attribute_kind(int type) {
  constexpr std::string_view kNames[] = {"undefined", "a float", "an integer", "a string",
                                         "a tensor",  "a graph", "floats",     "integers",
                                         "strings",   "tensors", "graphs",     "a sparse tensor",
                                         "tensors",   "a type",  "types"};
  return type >= 0 && type < static_cast<int>(std::size(kNames)) ? kNames[type] : "unknown";
}

std::vector<std::int64_t> integers_of(const Tensor& tensor, std::string_view what) {
  if (!is_integer(tensor.dtype()))
    throw FormatError(fmt::format("{} is {}, but must be integers", what, tensor.type_str()));
  return tensor.to(DType::i64).to_vector<std::int64_t>();
}

// Returns the only element of operand `i`.
template <class T>
T only(const std::vector<T>& values, std::size_t i) {
  if (values.size() == 1) return values[0];
  throw FormatError(fmt::format("operand {} has {} elements instead of one", i, values.size()));
}

}  // namespace

NodeImport::NodeImport(GraphImport& import, const onnx_proto::Node& node, std::int64_t opset)
    : import_(import), node_(node), opset_(opset) {}

Graph& NodeImport::graph() { return import_.graph(); }

// -- Operands -------------------------------------------------------------------------------------

bool NodeImport::has(std::size_t i) const {
  if (i >= input_count()) return false;
  const std::string& name = node_.input(static_cast<int>(i));
  return !name.empty() && !import_.is_absent(name);
}

const std::string& NodeImport::operand_name(std::size_t i) {
  if (!has(i)) throw FormatError(fmt::format("operand {} is missing", i));
  read_inputs_.insert(i);
  return node_.input(static_cast<int>(i));
}

const ImportedValue& NodeImport::any_input(std::size_t i) { return import_.value(operand_name(i)); }

Value NodeImport::input(std::size_t i) {
  const ImportedValue& value = any_input(i);
  if (value.kind != ImportedValue::Kind::tensor) {
    throw FormatError(
        fmt::format("operand {} is {}, but must be a tensor", i,
                    value.kind == ImportedValue::Kind::none ? "an empty optional" : "a sequence"));
  }
  return value.tensor;
}

Value NodeImport::optional(std::size_t i) { return has(i) ? input(i) : Value(); }

std::vector<Value> NodeImport::inputs(std::size_t first) {
  std::vector<Value> values;
  for (std::size_t i = first; i < input_count(); ++i) values.push_back(input(i));
  return values;
}

Value NodeImport::buffer(std::size_t i) {
  import_.value(operand_name(i), true);
  return input(i);
}

bool NodeImport::wants(std::size_t i) const {
  return i < output_count() && import_.is_used(node_.output(static_cast<int>(i)));
}

// -- Attributes -----------------------------------------------------------------------------------

bool NodeImport::has_attribute(std::string_view name) const {
  for (const auto& attribute : node_.attribute())
    if (attribute.name() == name) return true;
  return false;
}

const onnx_proto::Attribute* NodeImport::find(std::string_view name, int type) {
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    read_attributes_.insert(std::string(name));
    // Old files do not declare types.
    if (attribute.type() != type && attribute.type() != Kind::UNDEFINED) {
      throw FormatError(fmt::format("attribute '{}' is {}, but must be {}", name,
                                    attribute_kind(attribute.type()), attribute_kind(type)));
    }
    return &attribute;
  }
  return nullptr;
}

const onnx_proto::Attribute& NodeImport::require(std::string_view name, int type) {
  const onnx_proto::Attribute* attribute = find(name, type);
  if (attribute == nullptr) throw FormatError(fmt::format("attribute '{}' is missing", name));
  return *attribute;
}

std::int64_t NodeImport::integer(std::string_view name) { return require(name, Kind::INT).i(); }

std::int64_t NodeImport::integer(std::string_view name, std::int64_t otherwise) {
  const auto* attribute = find(name, Kind::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}

bool NodeImport::flag(std::string_view name, bool otherwise) {
  const std::int64_t value = integer(name, otherwise ? 1 : 0);
  if (value != 0 && value != 1)
    throw FormatError(fmt::format("attribute '{}' is {}, but must be 0 or 1", name, value));
  return value == 1;
}

double NodeImport::real(std::string_view name) {
  return static_cast<double>(require(name, Kind::FLOAT).f());
}

double NodeImport::real(std::string_view name, double otherwise) {
  const auto* attribute = find(name, Kind::FLOAT);
  return attribute == nullptr ? otherwise : static_cast<double>(attribute->f());
}

std::string NodeImport::text(std::string_view name, std::string_view otherwise) {
  const auto* attribute = find(name, Kind::STRING);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::optional<std::vector<std::int64_t>> NodeImport::integers(std::string_view name) {
  const auto* attribute = find(name, Kind::INTS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<double>> NodeImport::reals(std::string_view name) {
  const auto* attribute = find(name, Kind::FLOATS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<std::vector<std::string>> NodeImport::texts(std::string_view name) {
  const auto* attribute = find(name, Kind::STRINGS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

std::optional<Tensor> NodeImport::tensor(std::string_view name) {
  const std::string what = fmt::format("attribute '{}'", name);
  FileImport& file = import_.file();
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() != name || attribute.type() != Kind::SPARSE_TENSOR) continue;
    read_attributes_.insert(std::string(name));
    return file.reader.read(attribute.sparse_tensor(), what, file.options.max_memory);
  }
  const auto* attribute = find(name, Kind::TENSOR);
  if (attribute == nullptr) return std::nullopt;
  return file.reader.read(attribute->t(), what);
}

const onnx_proto::Graph& NodeImport::body(std::string_view name) {
  return require(name, Kind::GRAPH).g();
}

// -- Values that are known when the file is read --------------------------------------------------

std::optional<Tensor> NodeImport::known(Value value) { return import_.file().known.tensor(value); }

std::optional<Tensor> NodeImport::known_if_any(std::size_t i) {
  if (const auto tensor = import_.initializer(operand_name(i))) return tensor;
  return known(input(i));
}

Tensor NodeImport::known_input(std::size_t i) {
  if (const auto tensor = known_if_any(i)) return *tensor;
  unknown(i);
}

void NodeImport::fix_input(std::size_t i) {
  FileImport& file = import_.file();
  const Value leaf = file.known.unknown_leaf(input(i));
  if (!leaf.defined() || leaf.node().op().name != "input") return;
  const std::string& name = leaf.node().attributes().text("name");
  if (file.options.input_values.count(name) != 0) throw FixInput{name};
}

void NodeImport::unknown(std::size_t i) {
  FileImport& file = import_.file();
  const Value leaf = file.known.unknown_leaf(input(i));
  const std::string prefix = fmt::format(
      "operand {} ('{}') determines a shape or a setting and must be known when the file is read, "
      "but it depends on ",
      i, excerpt(node_.input(static_cast<int>(i))));
  fix_input(i);
  if (leaf.defined() && leaf.node().op().name == "input") {
    const std::string& name = leaf.node().attributes().text("name");
    throw FormatError(
        fmt::format("{}input '{}': pass the value of this input in OnnxReadOptions::input_values",
                    prefix, name));
  }
  if (leaf.defined() && leaf.node().op().name == "dim_value") {
    throw FormatError(fmt::format("{}the size {}: set the size in OnnxReadOptions::sizes", prefix,
                                  leaf.node().attributes().dim("dim").str()));
  }
  throw FormatError(
      fmt::format("{}data, which is not supported{}", prefix,
                  leaf.defined() ? fmt::format(" (result of {})", leaf.node().op().name) : ""));
}

std::vector<std::int64_t> NodeImport::known_integers(std::size_t i) {
  return integers_of(known_input(i), fmt::format("operand {}", i));
}

double NodeImport::known_real(std::size_t i) {
  const Tensor tensor = known_input(i);
  if (tensor.numel() != 1) {
    throw FormatError(
        fmt::format("operand {} is {}, but must have one element", i, tensor.type_str()));
  }
  return tensor.at(0);
}

std::int64_t NodeImport::known_integer(std::size_t i) { return only(known_integers(i), i); }

std::vector<Dim> NodeImport::sizes(std::size_t i) {
  if (const auto tensor = known_if_any(i)) {
    const auto values = integers_of(*tensor, fmt::format("operand {}", i));
    return {values.begin(), values.end()};
  }
  if (const auto dims = import_.file().known.dims(input(i))) return *dims;
  unknown(i);
}

Dim NodeImport::size(std::size_t i) { return only(sizes(i), i); }

std::optional<std::vector<std::int64_t>> NodeImport::operand_or_attribute(std::size_t i,
                                                                          std::string_view name) {
  return has(i) ? known_integers(i) : integers(name);
}

Value NodeImport::add_buffer(std::string_view name, Tensor value) {
  return import_.file().add_variable(name, std::move(value), VariableKind::buffer);
}

// -- Helpers --------------------------------------------------------------------------------------

int NodeImport::axis(std::string_view name, std::int64_t otherwise, int rank) {
  return normalised_axis(integer(name, otherwise), rank);
}

int NodeImport::normalised_axis(std::int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    throw FormatError(fmt::format("axis {} is out of range for a tensor of rank {}", axis, rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void NodeImport::unsupported(std::string_view what) const {
  throw FormatError(fmt::format("{} with {} is not supported", op(), what));
}

void NodeImport::check_all_read() const {
  for (const auto& attribute : node_.attribute()) {
    if (read_attributes_.count(attribute.name()) == 0)
      unsupported(fmt::format("attribute '{}'", excerpt(attribute.name())));
  }
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (has(i) && read_inputs_.count(i) == 0) {
      unsupported(fmt::format("operand {} ('{}')", i, excerpt(node_.input(static_cast<int>(i)))));
    }
  }
}

}  // namespace weft::onnx
