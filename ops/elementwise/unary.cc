// Records of the elementwise ops with one operand.
#include <fmt/format.h>

#include <limits>

#include "weft/core/integer_range.h"
#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/unary.h"

namespace weft {
namespace {

using kernels::UnaryOp;

constexpr double kExactNs = 0.3;  // as in the table of ops

RowKernel make_row(RowKernel::Function function, double ns_per_element) {
  RowKernel row;
  row.function = function;
  row.ns_per_element = ns_per_element;
  return row;
}

RowKernel isfinite(const RowRequest& request) {
  return make_row(kernels::isfinite_row(request.inputs[0]), kExactNs);
}

RowKernel logical_not(const RowRequest&) { return make_row(kernels::logical_not_row(), kExactNs); }

RowKernel clamp(const RowRequest& request) {
  RowKernel row = kernels::clamp_row(request.inputs[0], request.attributes.real("lo"),
                                     request.attributes.real("hi"));
  row.ns_per_element = kExactNs;
  return row;
}

std::vector<ValueType> infer_number(const InferContext& context) {
  elementwise::require_number(context, 0, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_floating(const InferContext& context) {
  context.require_floating(0, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_isfinite(const InferContext& context) {
  context.require_floating(0, "x");
  return {{DType::boolean, context.shape(0)}};
}

std::vector<ValueType> infer_logical_not(const InferContext& context) {
  context.require_dtype(0, DType::boolean, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_clamp(const InferContext& context) {
  elementwise::require_number(context, 0, "x");
  const double lo = context.attributes().real("lo"), hi = context.attributes().real("hi");
  if (!(lo <= hi)) {
    throw ArgumentError(fmt::format("lo must be at most hi, but lo is {} and hi is {}", lo, hi));
  }
  const DType dtype = context.dtype(0);
  if (is_integer(dtype) && !whole_numbers(lo, hi, dtype)) {
    const IntegerRange range = integer_range(dtype);
    throw DTypeError(fmt::format("no {} value ({} to {}) is between lo = {} and hi = {}",
                                 dtype_name(dtype), range.low, range.high, lo, hi));
  }
  return {context.input(0)};
}

OpRecord unary_record(std::string name, std::string doc, RowRule row) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"x"}};
  r.traits = Trait::elementwise;
  r.inplace = {{0, 0}};
  r.infer = infer_floating;
  elementwise::set_row(r, std::move(row));
  return r;
}

/// Returns the record of op `index` of the table. The row kernel is looked up when it is requested,
/// because tests change the SIMD target.
OpRecord unary_record(std::size_t index) {
  const UnaryOp& op = kernels::unary_ops()[index];
  OpRecord r = unary_record(op.name, op.doc, [index](const RowRequest& request) {
    const UnaryOp& current = kernels::unary_ops()[index];
    return make_row(current.row(request.inputs[0]), current.ns_per_element);
  });
  if (op.row(DType::i32) != nullptr) r.infer = infer_number;
  if (op.piecewise_constant) {
    r.gradient = Gradient::none;
    r.no_gradient_reason = "piecewise constant: the derivative is 0 wherever it exists";
  }
  return r;
}

}  // namespace

void UnaryOps::add(OpSet& ops) {
  for (std::size_t i = 0; i < kernels::unary_ops().size(); ++i) ops.add(unary_record(i));

  OpRecord negation = unary_record("logical_not", "!x.", logical_not);
  negation.infer = infer_logical_not;
  negation.gradient = Gradient::none;
  negation.no_gradient_reason = "booleans have no gradient";
  ops.add(std::move(negation));

  OpRecord finite = unary_record("isfinite", "True if x is neither infinite nor NaN.", isfinite);
  finite.infer = infer_isfinite;
  finite.inplace = {};
  finite.gradient = Gradient::none;
  finite.no_gradient_reason = "booleans have no gradient";
  ops.add(std::move(finite));

  OpRecord limit = unary_record(
      "clamp",
      "min(max(x, lo), hi); NaN remains NaN. The gradient is 1 for x in [lo, hi] and 0 otherwise.",
      clamp);
  const double inf = std::numeric_limits<double>::infinity();
  limit.attributes = {{"lo", -inf}, {"hi", inf}};
  limit.infer = infer_clamp;
  ops.add(std::move(limit));
}

}  // namespace weft
