// Softmax and normalisation.
#include "weft/autodiff/rule.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

Names export_softmax(const NodeExport& e) {
  return {e.add("Softmax", {e.in()}, {{"axis", e.integer("axis")}})};
}
Names export_log_softmax(const NodeExport& e) {
  return {e.add("LogSoftmax", {e.in()}, {{"axis", e.integer("axis")}})};
}

// The operators compute statistics in f32, and their gain is not optional.
bool is_composite(const NodeExport& e, std::int64_t opset) {
  for (int i = 1; i < e.node().output_count(); ++i) {
    if (e.wants(i)) return false;
  }
  return e.opset() >= opset && e.type().dtype == DType::f32 && e.has(1);
}

Names export_layer_norm(const NodeExport& e) {
  if (!is_composite(e, 17)) return e.lower(builtin_rules().definition("layer_norm"));
  return {e.add("LayerNormalization", e.inputs(),
                {{"axis", -e.integer("axes")}, {"epsilon", e.attributes().real("eps")}})};
}
Names export_rms_norm(const NodeExport& e) {
  if (!is_composite(e, 23)) return e.lower(builtin_rules().definition("rms_norm"));
  return {e.add("RMSNormalization", e.inputs(),
                {{"axis", std::int64_t{-1}}, {"epsilon", e.attributes().real("eps")}})};
}

constexpr Exporter kNorms[] = {
    {"layer_norm", export_layer_norm},
    {"log_softmax", export_log_softmax},
    {"rms_norm", export_rms_norm},
    {"softmax", export_softmax},
};

}  // namespace

std::span<const Exporter> norm_exporters() { return kNorms; }

}  // namespace weft::onnx
