// Records of the elementwise ops with two operands, and of `where`.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/kernels/elementwise/binary.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

using elementwise::sample_values;
using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::LogicalOp;

// Approximate time per float on one core, in nanoseconds. kArithmeticNs is limited by memory
// bandwidth.
constexpr double kArithmeticNs = 0.4, kPowNs = 25.0;

RowKernel make_row(const RowRequest& request, RowKernel::Function function,
                   double ns_per_element = kArithmeticNs) {
  RowKernel row;
  row.function = function;
  row.scalars = request.scalars;
  row.ns_per_element = ns_per_element;
  return row;
}

template <BinaryOp op>
RowKernel arithmetic(const RowRequest& request) {
  return make_row(request, kernels::binary_row(op, request.inputs[0]),
                  op == BinaryOp::pow ? kPowNs : kArithmeticNs);
}

/// Returns the row kernel for use without a data check; null for integers, which require the check.
template <BinaryOp op>
RowKernel unchecked(const RowRequest& request) {
  return is_integer(request.inputs[0]) ? RowKernel{} : arithmetic<op>(request);
}

template <CompareOp op>
RowKernel comparison(const RowRequest& request) {
  return make_row(request, kernels::compare_row(op, request.inputs[0]));
}

template <LogicalOp op>
RowKernel logical(const RowRequest& request) {
  return make_row(request, kernels::logical_row(op));
}

RowKernel where_row(const RowRequest& request) {
  return make_row(request, kernels::where_row(dtype_size(request.output)));
}

/// Returns the index of the first element of an integer tensor for which `bad` is true, or -1.
template <class Bad>
std::int64_t find_integer(DType dtype, const void* data, std::int64_t n, Bad bad) {
  const auto search = [&](const auto* p) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (bad(p[i])) return i;
    }
    return std::int64_t{-1};
  };
  switch (dtype) {
    case DType::i64: return search(static_cast<const std::int64_t*>(data));
    case DType::i32: return search(static_cast<const std::int32_t*>(data));
    case DType::i8: return search(static_cast<const std::int8_t*>(data));
    case DType::u8: return search(static_cast<const std::uint8_t*>(data));
    default: return -1;
  }
}

/// Creates the kernel of div or pow. Integer division by zero and negative powers of integers are
/// undefined; the data check rejects them before the kernel runs.
template <BinaryOp op>
Kernel make_partial(const KernelRequest& request) {
  Kernel kernel = elementwise::kernel<arithmetic<op>>(request);
  const OperandSpec b = request.inputs[1];
  if (!is_integer(b.dtype) || request.outputs[0].numel() == 0) return kernel;
  kernel.check = [b](const KernelRun& run) {
    const std::int64_t i = find_integer(b.dtype, run.inputs[1], b.numel(), [](auto x) {
      return op == BinaryOp::div ? x == 0 : x < 0;
    });
    if (i < 0) return;
    if (op == BinaryOp::div) {
      throw DataError(fmt::format("integer division by zero: b{} is 0", index_text(i, b.sizes)));
    }
    throw DataError(
        fmt::format("negative power of an integer: b{} must not be negative; cast to a floating "
                    "dtype for negative exponents",
                    index_text(i, b.sizes)));
  };
  return kernel;
}

std::vector<ValueType> infer_binary(const InferContext& context) {
  context.require_same_dtype(0, 1);
  elementwise::require_number(context, 0, "a");
  return {{context.dtype(0), context.broadcast(context.shape(0), context.shape(1))}};
}

std::vector<ValueType> infer_compare(const InferContext& context) {
  context.require_same_dtype(0, 1);
  return {{DType::boolean, context.broadcast(context.shape(0), context.shape(1))}};
}

std::vector<ValueType> infer_logical(const InferContext& context) {
  context.require_dtype(0, DType::boolean, "a");
  context.require_dtype(1, DType::boolean, "b");
  return {{DType::boolean, context.broadcast(context.shape(0), context.shape(1))}};
}

std::vector<ValueType> infer_where(const InferContext& context) {
  context.require_dtype(0, DType::boolean, "c");
  context.require_same_dtype(1, 2);
  const Shape values = context.broadcast(context.shape(1), context.shape(2));
  return {{context.dtype(1), context.broadcast(context.shape(0), values)}};
}

const std::vector<std::pair<Sizes, Sizes>>& sample_sizes() {
  static const std::vector<std::pair<Sizes, Sizes>> sizes = {
      {{2, 3}, {2, 3}}, {{}, {3}}, {{2, 1, 3}, {4, 1}}, {{0, 3}, {3}}, {{17}, {17}}, {{5}, {1}}};
  return sizes;
}

/// Returns samples with values of a in [low_a, 2] and values of b in [low_b, 2.5]. The template
/// arguments are in tenths.
template <int low_a, int low_b>
std::vector<OpSample> binary_samples() {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const auto& [a, b] : sample_sizes()) {
    result.push_back({{sample_values(a, low_a / 10.0, 2.0, seed, -1),
                       sample_values(b, low_b / 10.0, 2.5, seed + 1, 1)},
                      {}});
    seed += 2;
  }
  return result;
}

Tensor sample_bools(const Sizes& sizes, std::uint32_t seed) {
  const Tensor values = sample_values(sizes, -1, 1, seed);
  Tensor bools = Tensor::empty(DType::boolean, sizes);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    bools.mutable_data<bool>()[i] = values.at(i) > 0;
  return bools;
}

std::vector<OpSample> logical_samples() {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const auto& [a, b] : sample_sizes()) {
    result.push_back({{sample_bools(a, seed), sample_bools(b, seed + 1)}, {}});
    seed += 2;
  }
  return result;
}

std::vector<OpSample> compare_samples() {
  std::vector<OpSample> result = binary_samples<-20, -20>();
  result.push_back(
      {{Tensor::of<std::int32_t>({4}, {1, 2, 3, 4}), Tensor::scalar(DType::i32, 3)}, {}});
  result.push_back({logical_samples()[0].inputs, {}});
  return result;
}

std::vector<OpSample> where_samples() {
  const auto sample = [](Sizes c, Sizes a, Sizes b, std::uint32_t seed) -> OpSample {
    return {{sample_bools(c, seed), sample_values(a, -2, 2, seed + 1),
             sample_values(b, -2, 2, seed + 2)},
            {}};
  };
  return {sample({2, 3}, {2, 3}, {2, 3}, 1), sample({3}, {2, 1}, {}, 4),
          sample({4, 1}, {3}, {4, 3}, 7), sample({0}, {}, {}, 10), sample({}, {5}, {5}, 13)};
}

std::vector<OpErrorSample> shape_errors(DType dtype) {
  return {{{{dtype, {2, 3}}, {dtype, {4}}}, {}, "do not broadcast: axis -1 has sizes 3 and 4"},
          {{{DType::i64, {2}}, {DType::i32, {2}}}, {}, "i32"}};
}

std::vector<OpErrorSample> binary_errors() {
  std::vector<OpErrorSample> errors = shape_errors(DType::f32);
  errors.push_back({{{DType::boolean, {2}}, {DType::boolean, {2}}},
                    {},
                    "a must be f32, f64 or an integer, but is bool"});
  return errors;
}

std::vector<OpErrorSample> compare_errors() { return shape_errors(DType::u8); }

std::vector<OpErrorSample> logical_binary_errors() {
  return {{{{DType::f32, {2}}, {DType::boolean, {2}}}, {}, "a must be bool, but is f32"},
          {{{DType::boolean, {2}}, {DType::i32, {2}}}, {}, "b must be bool, but is i32"},
          {{{DType::boolean, {2}}, {DType::boolean, {3}}}, {}, "do not broadcast"}};
}

std::vector<OpErrorSample> where_errors() {
  return {
      {{{DType::f32, {2}}, {DType::f32, {2}}, {DType::f32, {2}}}, {}, "c must be bool, but is f32"},
      {{{DType::boolean, {2}}, {DType::f32, {2}}, {DType::f64, {2}}},
       {},
       "operands have different dtypes, f32 and f64"},
      {{{DType::boolean, {3}}, {DType::f32, {2}}, {DType::f32, {2}}}, {}, "do not broadcast"}};
}

template <RowKernel (*row)(const RowRequest&)>
OpRecord binary_record(std::string name, std::string doc, Trait more = Trait::none) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"a"}, {"b"}};
  r.traits = Trait::elementwise | more;
  r.inplace = {{0, 0}, {0, 1}};
  r.infer = infer_binary;
  r.kernel = elementwise::kernel<row>;
  r.row = row;
  return r;
}

void add_arithmetic(OpSet& ops) {
  const Trait commutes = Trait::commutative;
  ops.add(
      binary_record<arithmetic<BinaryOp::add>>("add", "a + b; integers wrap around.", commutes));
  ops.add(binary_record<arithmetic<BinaryOp::sub>>("sub", "a - b; integers wrap around."));
  ops.add(
      binary_record<arithmetic<BinaryOp::mul>>("mul", "a * b; integers wrap around.", commutes));
  OpRecord div = binary_record<arithmetic<BinaryOp::div>>(
      "div", "a / b. Integer division truncates; a zero integer divisor is a data error.");
  div.kernel = make_partial<BinaryOp::div>;
  div.row = unchecked<BinaryOp::div>;
  ops.add(std::move(div));
  OpRecord pow = binary_record<arithmetic<BinaryOp::pow>>(
      "pow", "a to the power of b; a negative integer exponent is a data error.");
  pow.kernel = make_partial<BinaryOp::pow>;
  pow.row = unchecked<BinaryOp::pow>;
  ops.add(std::move(pow));
  ops.add(binary_record<arithmetic<BinaryOp::maximum>>(
      "maximum", "The larger of a and b; NaN if either is NaN. Equal operands share the gradient.",
      commutes));
  ops.add(binary_record<arithmetic<BinaryOp::minimum>>(
      "minimum", "The smaller of a and b; NaN if either is NaN. Equal operands share the gradient.",
      commutes));
}

void add_boolean(OpSet& ops, OpRecord r) {
  r.gradient = Gradient::none;
  r.no_gradient_reason = "booleans have no gradient";
  ops.add(std::move(r));
}

void add_comparisons(OpSet& ops) {
  const auto add = [&](OpRecord r) {
    r.infer = infer_compare;
    r.inplace = {};
    add_boolean(ops, std::move(r));
  };
  const Trait commutes = Trait::commutative;
  add(binary_record<comparison<CompareOp::equal>>("equal", "a == b; false for NaN.", commutes));
  add(binary_record<comparison<CompareOp::not_equal>>("not_equal", "a != b; true for NaN.",
                                                      commutes));
  add(binary_record<comparison<CompareOp::less>>("less", "a < b; false for NaN."));
  add(binary_record<comparison<CompareOp::less_equal>>("less_equal", "a <= b; false for NaN."));
  add(binary_record<comparison<CompareOp::greater>>("greater", "a > b; false for NaN."));
  add(binary_record<comparison<CompareOp::greater_equal>>("greater_equal",
                                                          "a >= b; false for NaN."));
}

void add_logical(OpSet& ops) {
  const auto add = [&](OpRecord r) {
    r.infer = infer_logical;
    add_boolean(ops, std::move(r));
  };
  add(binary_record<logical<LogicalOp::logical_and>>("logical_and", "a && b.", Trait::commutative));
  add(binary_record<logical<LogicalOp::logical_or>>("logical_or", "a || b.", Trait::commutative));
  add(binary_record<logical<LogicalOp::logical_xor>>("logical_xor", "a != b.", Trait::commutative));
}

}  // namespace

void add_binary_ops(OpSet& ops) {
  add_arithmetic(ops);
  add_comparisons(ops);
  add_logical(ops);
  OpRecord where = binary_record<where_row>(
      "where", "c ? a : b for each element; all three operands are broadcast.");
  where.inputs = {{"c"}, {"a"}, {"b"}};
  where.inplace = {{0, 1}, {0, 2}};
  where.infer = infer_where;
  ops.add(std::move(where));
}

void add_binary_samples(OpSamples& all) {
  for (const char* op : {"add", "sub", "mul", "maximum", "minimum"}) {
    all.add(op, binary_samples<-20, -20>, binary_errors);
  }
  all.add("div", binary_samples<-20, 5>, binary_errors);
  all.add("pow", binary_samples<5, -20>, binary_errors);
  for (const char* op : {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}) {
    all.add(op, compare_samples, compare_errors);
  }
  for (const char* op : {"logical_and", "logical_or", "logical_xor"}) {
    all.add(op, logical_samples, logical_binary_errors);
  }
  all.add("where", where_samples, where_errors);
}

}  // namespace weft
