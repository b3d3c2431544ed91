#include "weft/serialization/onnx/export/operators.h"

#include <map>

namespace weft::onnx {

const Exporter* find_exporter(std::string_view op) {
  static const auto table = [] {
    std::map<std::string_view, const Exporter*> all;
    for (const std::span<const Exporter> family :
         {elementwise_exporters(), reduction_exporters(), shape_exporters(), index_exporters(),
          product_exporters(), norm_exporters(), window_exporters(), control_exporters(),
          quantized_exporters(), sequence_exporters()}) {
      for (const Exporter& exporter : family) all.emplace(exporter.op, &exporter);
    }
    return all;
  }();
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace weft::onnx
