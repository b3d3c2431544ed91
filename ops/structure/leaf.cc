// Leaves, barriers and other ops without arithmetic.
#include <fmt/format.h>

#include "weft/core/integer_range.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::vector<ValueType> infer_declared(const InferContext& c) {
  return {{c.attributes().dtype("dtype"), c.attributes().shape("shape")}};
}

std::vector<ValueType> infer_constant(const InferContext& c) {
  const Tensor& value = c.attributes().tensor("value");
  return {{value.dtype(), Shape(value.sizes())}};
}

std::vector<ValueType> infer_same(const InferContext& c) { return {c.input(0)}; }

/// Throws ShapeError if `largest` (a size or the largest index) is constant and cannot be
/// represented in the integer dtype `dtype`.
void require_representable(const Dim& largest, DType dtype, std::string_view what) {
  if (!is_integer(dtype) || !largest.is_constant()) return;
  const IntegerRange range = integer_range(dtype);
  if (range.holds(largest.constant())) return;
  throw ShapeError(fmt::format("{} {} does not fit into {}, whose range is {} to {}; use i64", what,
                               largest.constant(), dtype_name(dtype), range.low, range.high));
}

void require_indices(const Dim& size, DType dtype) {
  if (size.is_constant() && size.constant() > 0)
    require_representable(size - 1, dtype, "the index");
}

std::vector<ValueType> infer_iota(const InferContext& c) {
  const Shape& shape = c.attributes().shape("shape");
  const std::int64_t axis = c.attributes().integer("axis");
  if (axis < 0 || axis >= shape.rank()) {
    throw ShapeError(fmt::format("axis {} is not an axis of {}", axis, shape.str()));
  }
  const DType dtype = c.attributes().dtype("dtype");
  if (dtype == DType::boolean || dtype == DType::bf16 || dtype == DType::f16) {
    throw DTypeError(
        fmt::format("indices cannot be {}; use i64, i32, f32 or f64", dtype_name(dtype)));
  }
  require_indices(shape[static_cast<int>(axis)], dtype);
  return {{dtype, shape}};
}

Kernel iota_kernel(const KernelRequest& request) {
  const Sizes sizes = request.outputs[0].sizes;
  const auto axis = static_cast<std::size_t>(request.attributes.integer("axis"));
  const std::int64_t stride = row_major_strides(sizes)[axis];
  const std::int64_t size = sizes[axis];
  const std::int64_t total = request.outputs[0].numel();
  const std::int64_t chunks = chunk_count(total, 1 << 16);
  const DType dtype = request.outputs[0].dtype;
  require_indices(size, dtype);
  Phase phase;
  phase.chunks = chunks;
  phase.cost_ns = static_cast<double>(total);
  phase.body = [=](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(total, chunks, chunk);
    visit_dtype(dtype, [&, begin = begin, end = end](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_arithmetic_v<T>) {
        for (std::int64_t i = begin; i < end; ++i)
          run.out<T>(0)[i] = static_cast<T>(i / stride % size);
      }
    });
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

std::vector<ValueType> infer_dim_value(const InferContext& c) {
  const DType dtype = c.attributes().dtype("dtype");
  if (!is_integer(dtype) && dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(fmt::format("the value of a dim cannot be {}; use i64, i32, f32 or f64",
                                 dtype_name(dtype)));
  }
  require_representable(c.attributes().dim("dim"), dtype, "the size");
  return {{dtype, Shape()}};
}

Kernel dim_value_kernel(const KernelRequest& request) {
  const std::int64_t value = request.attributes.dim("dim").constant();
  const DType dtype = request.outputs[0].dtype;
  require_representable(value, dtype, "the size");
  Kernel kernel;
  kernel.phases.push_back({.chunks = 1, .body = [=](const KernelRun& run, std::int64_t) {
                             visit_dtype(dtype, [&](auto tag) {
                               using T = typename decltype(tag)::type;
                               if constexpr (std::is_arithmetic_v<T>) {
                                 run.out<T>(0)[0] = static_cast<T>(value);
                               }
                             });
                           }});
  return kernel;
}

std::vector<ValueType> infer_shard_sum(const InferContext& c) {
  const DType dtype = c.input(0).dtype;
  if (!is_integer(dtype) && dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(fmt::format("{} values cannot be summed over shards; use f32, f64, i64 or i32",
                                 dtype_name(dtype)));
  }
  return {c.input(0)};
}

std::vector<ValueType> infer_shard_concat(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  const Dim rows = c.attributes().dim("rows");
  c.require_equal(rows, c.shape(0)[0],
                  "attribute rows and the rows of x, outside sharded programs");
  Shape shape = c.shape(0);
  shape[0] = rows;
  return {{c.dtype(0), shape}};
}

std::vector<ValueType> infer_with_update(const InferContext& c) {
  c.require_same_dtype(1, 2);
  c.require_shape(2, c.shape(1), "the new value of the variable");
  return {c.input(0)};
}

OpRecord leaf(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.traits = Trait::leaf;
  r.attributes = {
      {"name", std::string(), true}, {"dtype", DType::f32, true}, {"shape", Shape(), true}};
  r.infer = infer_declared;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "a leaf has no operands";
  return r;
}

}  // namespace

void LeafOps::add(OpSet& ops) {
  ops.add(leaf("input", "A tensor fed at run time."));
  ops.add(leaf("variable", "The value of a variable before the updates of this run."));

  OpRecord constant = leaf("constant", "A constant tensor.");
  constant.attributes = {{"value", Tensor(), true}};
  constant.infer = infer_constant;
  ops.add(std::move(constant));

  OpRecord iota;
  iota.name = "iota";
  iota.doc = "out[..., i, ...] = i along `axis`.";
  iota.attributes = {
      {"shape", Shape(), true}, {"axis", std::int64_t{0}, true}, {"dtype", DType::i64, true}};
  iota.infer = infer_iota;
  iota.kernel = iota_kernel;
  iota.gradient = Gradient::none;
  iota.no_gradient_reason = "it has no operands";
  ops.add(std::move(iota));

  OpRecord dim_value;
  dim_value.name = "dim_value";
  dim_value.doc = "The value of a Dim as a scalar.";
  dim_value.attributes = {{"dim", Dim(), true}, {"dtype", DType::i64, true}};
  dim_value.infer = infer_dim_value;
  dim_value.kernel = dim_value_kernel;
  dim_value.gradient = Gradient::none;
  dim_value.no_gradient_reason = "it has no operands";
  ops.add(std::move(dim_value));

  OpRecord stop;
  stop.name = "stop_gradient";
  stop.doc = "Returns x; no gradient flows through this op.";
  stop.inputs = {{"x"}};
  stop.traits = Trait::alias;
  stop.infer = infer_same;
  stop.gradient = Gradient::none;
  stop.no_gradient_reason = "its purpose is to stop gradients";
  ops.add(std::move(stop));

  OpRecord barrier;
  barrier.name = "optimization_barrier";
  barrier.doc = "Returns x. Graph passes neither fold this op nor simplify through it.";
  barrier.inputs = {{"x"}};
  barrier.traits = Trait::alias | Trait::opaque;
  barrier.infer = infer_same;
  ops.add(std::move(barrier));

  OpRecord shards;
  shards.name = "shard_sum";
  shards.doc =
      "The sum of x over the shards of the program's batch, along the complete binary tree over "
      "shard numbers: (x0 + x1) + (x2 + x3). Outside a program and in programs without "
      "shards, x.";
  shards.inputs = {{"x"}};
  shards.traits = Trait::alias;
  shards.infer = infer_shard_sum;
  shards.gradient = Gradient::none;
  shards.no_gradient_reason = "gradients() itself continues through sums over shards";
  ops.add(std::move(shards));

  OpRecord rows;
  rows.name = "shard_concat";
  rows.doc =
      "The rows of x from all shards of the program's batch, in shard order. `rows` is the total "
      "number of rows. Outside a program and in programs without shards, the result is x.";
  rows.inputs = {{"x"}};
  rows.attributes = {{"rows", Dim(), true}};
  rows.traits = Trait::alias;
  rows.infer = infer_shard_concat;
  rows.gradient = Gradient::none;
  rows.no_gradient_reason = "its result does not record which rows belong to which shard";
  ops.add(std::move(rows));

  OpRecord update;
  update.name = "with_update";
  update.doc =
      "Returns x. A program that computes this op updates `variable` to `value`, unless the "
      "program sets a different update for the variable.";
  update.inputs = {{"x"}, {"variable"}, {"value"}};
  update.traits = Trait::alias;
  update.infer = infer_with_update;
  ops.add(std::move(update));
}

}  // namespace weft
