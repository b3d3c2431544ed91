// Records of the elementwise ops with two operands, and of `where`.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/kernels/elementwise/binary.h"

namespace weft {
namespace {

using kernels::BinaryOp;

RowKernel make_row(const RowRequest& request, RowKernel::Function function, double ns_per_element) {
  RowKernel row;
  row.function = function;
  row.scalars = request.scalars;
  row.ns_per_element = ns_per_element;
  return row;
}

RowKernel where_row(const RowRequest& request) {
  return make_row(request, kernels::where_row(dtype_size(request.output)), 0.4);
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

/// Restricts div or pow. Integer division by zero and negative powers of integers are undefined; a
/// data check rejects them before the kernel runs. The row kernel, which fused kernels use, has no
/// check and therefore accepts no integers.
void add_check(OpRecord& r, bool divides) {
  r.kernel = [create = r.kernel, divides](const KernelRequest& request) {
    Kernel kernel = create(request);
    const OperandSpec b = request.inputs[1];
    if (!is_integer(b.dtype) || request.outputs[0].numel() == 0) return kernel;
    kernel.check = [b, divides](const KernelRun& run) {
      const std::int64_t i = find_integer(b.dtype, run.inputs[1], b.numel(),
                                          [divides](auto x) { return divides ? x == 0 : x < 0; });
      if (i < 0) return;
      if (divides) {
        throw DataError(fmt::format("integer division by zero: b{} is 0", index_text(i, b.sizes)));
      }
      throw DataError(
          fmt::format("negative power of an integer: b{} must not be negative; cast to a floating "
                      "dtype for negative exponents",
                      index_text(i, b.sizes)));
    };
    return kernel;
  };
  r.row = [row = r.row](const RowRequest& request) {
    return is_integer(request.inputs[0]) ? RowKernel{} : row(request);
  };
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

using BinaryTable = std::span<const BinaryOp> (*)();

/// Returns the record of op `index` of a table. The row kernel is looked up when it is requested,
/// because tests change the SIMD target.
OpRecord binary_record(BinaryTable table, std::size_t index) {
  const BinaryOp& op = table()[index];
  OpRecord r;
  r.name = op.name;
  r.doc = op.doc;
  r.inputs = {{"a"}, {"b"}};
  r.traits = op.commutative ? Trait::elementwise | Trait::commutative : Trait::elementwise;
  r.inplace = {{0, 0}, {0, 1}};
  r.infer = infer_binary;
  elementwise::set_row(r, [table, index](const RowRequest& request) {
    const BinaryOp& current = table()[index];
    return make_row(request, current.row(request.inputs[0]), current.ns_per_element);
  });
  return r;
}

/// Adds the ops of a table, whose results are bool.
template <class Change>
void add_boolean(OpSet& ops, BinaryTable table, Change change) {
  for (std::size_t i = 0; i < table().size(); ++i) {
    OpRecord r = binary_record(table, i);
    r.gradient = Gradient::none;
    r.no_gradient_reason = "booleans have no gradient";
    change(r);
    ops.add(std::move(r));
  }
}

}  // namespace

void BinaryOps::add(OpSet& ops) {
  for (std::size_t i = 0; i < kernels::arithmetic_ops().size(); ++i) {
    OpRecord r = binary_record(kernels::arithmetic_ops, i);
    if (r.name == "div" || r.name == "pow") add_check(r, r.name == "div");
    ops.add(std::move(r));
  }
  add_boolean(ops, kernels::comparison_ops, [](OpRecord& r) {
    r.infer = infer_compare;
    r.inplace = {};
  });
  add_boolean(ops, kernels::logical_ops, [](OpRecord& r) { r.infer = infer_logical; });

  OpRecord where;
  where.name = "where";
  where.doc = "c ? a : b for each element; all three operands are broadcast.";
  where.inputs = {{"c"}, {"a"}, {"b"}};
  where.traits = Trait::elementwise;
  where.inplace = {{0, 1}, {0, 2}};
  where.infer = infer_where;
  elementwise::set_row(where, where_row);
  ops.add(std::move(where));
}

}  // namespace weft
