// Reductions and running sums.
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

// Integers of 8 bits and bool are summed as i32 and i64.
Names reduced(const NodeExport& e, std::string_view type) {
  const std::vector<std::int64_t>& axes = e.attributes().integers("axes");
  if (axes.empty()) return {e.in()};
  const DType dtype = e.type().dtype;
  const bool is_byte = dtype == DType::i8 || dtype == DType::u8;
  const std::string x = is_byte ? e.cast(e.in(), DType::i32) : e.in();
  const std::int64_t keepdims = e.attributes().flag("keepdims") ? 1 : 0;
  const bool as_operand = type == "ReduceSum" || e.opset() >= 18;
  const std::string y = as_operand ? e.add(type, {x, e.list(axes)}, {{"keepdims", keepdims}})
                                   : e.add(type, {x}, {{"axes", axes}, {"keepdims", keepdims}});
  return {is_byte ? e.cast(y, dtype) : y};
}

Names export_sum(const NodeExport& e) { return reduced(e, "ReduceSum"); }
Names export_mean(const NodeExport& e) { return reduced(e, "ReduceMean"); }
Names export_max(const NodeExport& e) { return reduced(e, "ReduceMax"); }
Names export_min(const NodeExport& e) { return reduced(e, "ReduceMin"); }
Names export_prod(const NodeExport& e) { return reduced(e, "ReduceProd"); }

Axes axes_of(const Node& node) {
  const std::vector<std::int64_t>& axes = node.attributes().integers("axes");
  return std::vector<int>(axes.begin(), axes.end());
}
Values lower_any(const Node& node, const Values& in, Graph&) {
  if (node.attributes().integers("axes").empty()) return {in[0]};
  return {
      greater(sum(cast(in[0], DType::i64), axes_of(node), node.attributes().flag("keepdims")), 0)};
}
Values lower_all(const Node& node, const Values& in, Graph&) {
  if (node.attributes().integers("axes").empty()) return {in[0]};
  const Value wrong = cast(logical_not(in[0]), DType::i64);
  return {equal(sum(wrong, axes_of(node), node.attributes().flag("keepdims")), 0)};
}

Names arg_reduced(const NodeExport& e, std::string_view type) {
  return {e.add(type, {e.in()},
                {{"axis", e.integer("axis")},
                 {"keepdims", std::int64_t{e.attributes().flag("keepdims") ? 1 : 0}}})};
}
Names export_argmax(const NodeExport& e) { return arg_reduced(e, "ArgMax"); }
Names export_argmin(const NodeExport& e) { return arg_reduced(e, "ArgMin"); }

Names export_cumsum(const NodeExport& e) {
  const auto flag = [&](std::string_view name) {
    return OnnxAttribute{name, std::int64_t{e.attributes().flag(name) ? 1 : 0}};
  };
  const DType dtype = e.type().dtype;
  const bool is_byte = dtype == DType::i8 || dtype == DType::u8;
  const std::string x = is_byte ? e.cast(e.in(), DType::i32) : e.in();
  const std::string axis = e.scalar(DType::i64, static_cast<double>(e.integer("axis")));
  const std::string y = e.add("CumSum", {x, axis}, {flag("exclusive"), flag("reverse")});
  return {is_byte ? e.cast(y, dtype) : y};
}

constexpr Exporter kReductions[] = {
    {"all", lower_all},        {"any", lower_any},        {"argmax", export_argmax},
    {"argmin", export_argmin}, {"cumsum", export_cumsum}, {"max", export_max},
    {"mean", export_mean},     {"min", export_min},       {"prod", export_prod},
    {"sum", export_sum},
};

}  // namespace

std::span<const Exporter> reduction_exporters() { return kReductions; }

}  // namespace weft::onnx
