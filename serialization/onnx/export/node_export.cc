#include "weft/serialization/onnx/export/node_export.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/ir/clone.h"
#include "weft/serialization/onnx/tensors.h"

namespace weft::onnx {
namespace {

// Returns the axes of `wide` that `narrow` lacks, if these have size 1 and all other axes are
// equal.
std::optional<std::vector<std::int64_t>> axes_of_size_one(const Shape& wide, const Shape& narrow) {
  std::vector<std::int64_t> axes;
  int next = 0;
  for (int axis = 0; axis < wide.rank(); ++axis) {
    if (next < narrow.rank() && wide[axis] == narrow[next]) {
      ++next;
    } else if (wide[axis] == Dim(1)) {
      axes.push_back(axis);
    } else {
      return std::nullopt;
    }
  }
  return next == narrow.rank() ? std::optional(axes) : std::nullopt;
}

}  // namespace

std::string NodeExport::in(std::size_t i) const {
  return has(i) ? graph_.read(frame_.names.at(node_.input(i))) : "";
}

Names NodeExport::inputs() const {
  Names names;
  for (std::size_t i = 0; i < input_count(); ++i) names.push_back(in(i));
  return names;
}

std::optional<Tensor> NodeExport::known(std::size_t i) const {
  const Node& from = node_.input(i).node();
  if (from.op().name == "constant") return from.attributes().tensor("value");
  if (from.op().name != "variable") return std::nullopt;
  return graph_.store().tensor(from.graph().variable_info(from).name);
}

std::string NodeExport::add(std::string_view type, const Names& inputs,
                            const OnnxAttributes& attributes) const {
  return graph_.add_node(type, inputs, 1, attributes).output(0);
}

Names NodeExport::add(std::size_t outputs, std::string_view type, const Names& inputs,
                      const OnnxAttributes& attributes) const {
  const onnx_proto::Node& node = graph_.add_node(type, inputs, outputs, attributes);
  return {node.output().begin(), node.output().end()};
}

std::string NodeExport::add_elementwise(std::string_view type) const {
  const auto is_byte = [](DType dtype) { return dtype == DType::i8 || dtype == DType::u8; };
  const bool is_order = type.starts_with("Less") || type.starts_with("Greater");
  Names operands = inputs();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType dtype = this->type(i).dtype;
    const bool is_narrow = is_byte(dtype) || (is_order && dtype == DType::boolean);
    if (is_narrow) operands[i] = cast(operands[i], DType::i32);
  }
  const std::string result = add(type, operands);
  return is_byte(out_type().dtype) ? cast(result, out_type().dtype) : result;
}

std::string NodeExport::cast(const std::string& x, DType dtype) const {
  return add("Cast", {x}, {{"to", std::int64_t{number_of_dtype(dtype)}}});
}

std::string NodeExport::reshape(const std::string& x, const Shape& from, const Shape& to) const {
  if (from == to) return x;
  if (const auto axes = axes_of_size_one(to, from)) return add("Unsqueeze", {x, list(*axes)});
  if (const auto axes = axes_of_size_one(from, to)) return add("Squeeze", {x, list(*axes)});
  // 0 copies a size and -1 computes one, unless 0 is a size.
  std::vector<std::int64_t> sizes;
  int unknown = 0;
  bool is_empty = false;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const Dim& dim = to[axis];
    const bool copied = axis < from.rank() && dim == from[axis];
    is_empty = is_empty || (dim.is_constant() && dim.constant() == 0);
    unknown += !dim.is_constant() && !copied ? 1 : 0;
    sizes.push_back(dim.is_constant() ? dim.constant() : copied ? 0 : -1);
  }
  if (is_empty) {
    require_opset(14, "a size of 0");
    return add("Reshape", {x, this->sizes(to)}, {{"allowzero", std::int64_t{1}}});
  }
  return add("Reshape", {x, unknown <= 1 ? list(sizes) : this->sizes(to)});
}

std::string NodeExport::unsqueeze(const std::string& x,
                                  const std::vector<std::int64_t>& axes) const {
  return add("Unsqueeze", {x, list(axes)});
}

Names NodeExport::expand(const Decomposition& build, bool all) const {
  const auto wanted = [&](std::size_t i) { return all || wants(static_cast<int>(i)); };
  const std::unique_ptr<Graph> graph = empty_copy(node_.graph());
  ExportFrame frame;
  std::vector<Value> operands, roots;
  for (std::size_t i = 0; i < input_count(); ++i) {
    operands.emplace_back();
    if (!has(i)) continue;
    operands.back() = graph->input(fmt::format("in{}", i), type(i));
    frame.names[operands.back()] = in(i);
  }
  const std::vector<Value> values = build(node_, operands, *graph);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!wanted(i)) continue;
    // The gradient of an absent operand is empty.
    roots.push_back(values[i].defined() ? values[i]
                                        : graph->constant(Tensor::empty(
                                              node_.type(static_cast<int>(i)).dtype, {0})));
  }
  ++graph_.lowering_;
  const Names translated = graph_.add_values(frame, roots);
  --graph_.lowering_;
  Names names(values.size());
  for (std::size_t i = 0, next = 0; i < values.size(); ++i) {
    if (wanted(i)) names[i] = translated[next++];
  }
  return names;
}

void NodeExport::require_opset(std::int64_t opset, std::string_view what) const {
  if (graph_.opset() >= opset) return;
  unsupported(
      fmt::format("{} needs opset {}, but the file has opset {}: set "
                  "OnnxWriteOptions::opset",
                  what, opset, graph_.opset()));
}

}  // namespace weft::onnx
