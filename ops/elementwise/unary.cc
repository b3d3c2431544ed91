// Records of the elementwise ops with one operand.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/integer_range.h"
#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/unary.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

using elementwise::sample_values;
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

/// Returns true if the op also accepts integers.
bool accepts_integers(const UnaryOp& op) { return op.row(DType::i32) != nullptr; }

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

/// Returns samples with values in [low, high].
std::vector<OpSample> unary_samples(double low, double high) {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const Sizes& sizes : {Sizes{7}, Sizes{}, Sizes{2, 3}, Sizes{0, 4}, Sizes{17}}) {
    result.push_back({{sample_values(sizes, low, high, seed++)}, {}});
  }
  return result;
}

std::vector<OpSample> isfinite_samples() {
  const float inf = std::numeric_limits<float>::infinity();
  return {{{Tensor::of<float>({5}, {0.0f, inf, -inf, NAN, 1e38f})}, {}},
          {{Tensor::zeros(DType::f32, {0})}, {}}};
}

std::vector<OpSample> logical_not_samples() {
  return {{{Tensor::of<bool>({3}, {true, false, true})}, {}},
          {{Tensor::zeros(DType::boolean, {2, 0})}, {}}};
}

std::vector<OpSample> clamp_samples() {
  return {{{sample_values({11}, -2, 2, 1)}, {{"lo", -0.5}, {"hi", 1.0}}},
          {{sample_values({2, 3}, -2, 2, 2)}, {{"lo", 0.0}}},
          {{sample_values({5}, -2, 2, 3)}, {{"hi", 0.5}}},
          {{sample_values({}, -2, 2, 4)}, {}},
          {{sample_values({0, 2}, -2, 2, 5)}, {{"lo", -1.0}, {"hi", 1.0}}}};
}

std::vector<OpErrorSample> number_errors() {
  return {{{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"},
          {{{DType::bf16, {2}}}, {}, "but is bf16; convert it with cast()"}};
}

std::vector<OpErrorSample> floating_errors() {
  return {{{{DType::i32, {2}}}, {}, "x must be f32 or f64, but is i32"},
          {{{DType::boolean, {2}}}, {}, "x must be f32 or f64, but is bool"}};
}

std::vector<OpErrorSample> logical_not_errors() {
  return {{{{DType::f32, {2}}}, {}, "x must be bool, but is f32"}};
}

std::vector<OpErrorSample> clamp_errors() {
  return {{{{DType::f32, {2}}}, {{"lo", 2.0}, {"hi", 1.0}}, "lo must be at most hi, but lo is 2"},
          {{{DType::f32, {2}}}, {{"lo", std::nan("")}}, "lo must be at most hi, but lo is nan"},
          {{{DType::i8, {2}}}, {{"lo", 300.0}}, "no i8 value (-128 to 127) is between lo = 300"},
          {{{DType::u8, {2}}}, {{"hi", -1.0}}, "no u8 value (0 to 255) is between"},
          {{{DType::i32, {2}}}, {{"lo", 0.2}, {"hi", 0.8}}, "is between lo = 0.2 and hi = 0.8"},
          {{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"}};
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
  if (accepts_integers(op)) r.infer = infer_number;
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

void UnaryOps::add(OpSamples& all) {
  for (const UnaryOp& op : kernels::unary_ops()) {
    all.add(
        op.name, [low = op.low, high = op.high] { return unary_samples(low, high); },
        accepts_integers(op) ? number_errors : floating_errors);
  }
  all.add("logical_not", logical_not_samples, logical_not_errors);
  all.add("isfinite", isfinite_samples, floating_errors);
  all.add("clamp", clamp_samples, clamp_errors);
}

}  // namespace weft
