// The table of all ops that can be written.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "weft/serialization/onnx/export/node_export.h"

namespace weft::onnx {

/// Adds the nodes of an op and returns the names of its outputs. Outputs without readers may be "".
using ExportFunction = Names (*)(const NodeExport& node);
/// Expresses an op by simpler ops.
using Lowering = std::vector<Value> (*)(const Node& node, const std::vector<Value>& inputs,
                                        Graph& graph);

/// How an op is written: as the ONNX operator of this name with the same operands, by a function,
/// or through simpler ops.
struct Exporter {
  std::string_view op;
  std::variant<std::string_view, ExportFunction, Lowering> how;
};

/// Returns the entry of an op, or null. Ops without an entry are written through their definition.
const Exporter* find_exporter(std::string_view op);

// The ops of each family, in export/operators/.
std::span<const Exporter> elementwise_exporters();
std::span<const Exporter> reduction_exporters();
std::span<const Exporter> shape_exporters();
std::span<const Exporter> index_exporters();
std::span<const Exporter> product_exporters();
std::span<const Exporter> norm_exporters();
std::span<const Exporter> window_exporters();
std::span<const Exporter> control_exporters();
std::span<const Exporter> quantized_exporters();
std::span<const Exporter> sequence_exporters();

}  // namespace weft::onnx
