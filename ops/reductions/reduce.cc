#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/reduce_arg.h"
#include "weft/ops/reductions/reduce_blocks.h"
#include "weft/ops/reductions/reduce_kernel.h"

namespace weft {
namespace {

using kernels::Reduction;

void check_axes(const InferContext& c, const std::vector<std::int64_t>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= c.rank(0)) {
      throw ShapeError(fmt::format("axis {} is out of range for {} with {} axes", axes[i],
                                   c.input(0).str(), c.rank(0)));
    }
    if (i > 0 && axes[i] <= axes[i - 1]) {
      throw ArgumentError(
          fmt::format("axes [{}] must be ascending and distinct", fmt::join(axes, ", ")));
    }
  }
}

std::vector<ValueType> reduced_type(const InferContext& c) {
  const auto& axes = c.attributes().integers("axes");
  check_axes(c, axes);
  const bool keepdims = c.attributes().flag("keepdims");
  Shape shape;
  for (int i = 0; i < c.rank(0); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i))) {
      shape.push_back(c.shape(0)[i]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  return {{c.dtype(0), std::move(shape)}};
}

std::vector<ValueType> infer_numeric(const InferContext& c) {
  require_numeric(c);
  return reduced_type(c);
}

std::vector<ValueType> infer_mean(const InferContext& c) {
  if (is_integer(c.dtype(0)) || c.dtype(0) == DType::boolean) {
    throw DTypeError(fmt::format(
        "the mean of {} is not defined, because it may not be an integer; convert x with "
        "cast(x, DType::f32) first",
        dtype_name(c.dtype(0))));
  }
  c.require_floating(0, "x");
  return reduced_type(c);
}

std::vector<ValueType> infer_floating(const InferContext& c) {
  c.require_floating(0, "x");
  return reduced_type(c);
}

std::vector<ValueType> infer_extreme(const InferContext& c) {
  auto types = infer_numeric(c);
  for (const std::int64_t axis : c.attributes().integers("axes")) {
    if (c.shape(0)[static_cast<int>(axis)] == Dim(0)) throw_empty_extreme(c.op(), axis);
  }
  return types;
}

std::vector<ValueType> infer_logical(const InferContext& c) {
  c.require_dtype(0, DType::boolean, "x");
  return reduced_type(c);
}

template <Reduction kKind, bool kMean = false>
Kernel reduce_kernel(const KernelRequest& r) {
  return make_reduce_kernel(r, kKind, r.attributes.integers("axes"), kMean);
}

Cost reduce_cost(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &out = r.outputs[0];
  const auto elements = static_cast<double>(x.numel());
  return {elements,
          (elements + static_cast<double>(out.numel())) * static_cast<double>(dtype_size(x.dtype))};
}

OpRecord reduction(std::string name, std::string doc) {
  OpRecord record;
  record.name = std::move(name);
  record.doc = std::move(doc);
  record.inputs = {{"x"}};
  record.attributes = {{"axes", std::vector<std::int64_t>{}, true}, {"keepdims", false}};
  record.cost = reduce_cost;
  return record;
}

}  // namespace

void throw_empty_extreme(std::string_view op, std::int64_t axis) {
  throw ShapeError(fmt::format("axis {} has size 0: an empty range has no {}", axis, op));
}

void ReduceOps::add(OpSet& ops) {
  OpRecord sum = reduction("sum",
                           "Sum over the axes; 0 for an empty range. Integers wrap "
                           "around.");
  sum.infer = infer_numeric;
  sum.kernel = reduce_kernel<Reduction::sum>;
  ops.add(std::move(sum));

  OpRecord mean = reduction("mean", "Arithmetic mean over the axes; NaN for an empty range.");
  mean.infer = infer_mean;
  mean.kernel = reduce_kernel<Reduction::sum, true>;
  ops.add(std::move(mean));

  OpRecord max = reduction("max", "Largest element over the axes; NaN if any element is NaN.");
  max.infer = infer_extreme;
  max.kernel = reduce_kernel<Reduction::max>;
  ops.add(std::move(max));

  OpRecord min = reduction("min", "Smallest element over the axes; NaN if any element is NaN.");
  min.infer = infer_extreme;
  min.kernel = reduce_kernel<Reduction::min>;
  ops.add(std::move(min));

  OpRecord prod = reduction("prod", "Product over the axes; 1 for an empty range. Integers wrap.");
  prod.infer = infer_numeric;
  prod.kernel = reduce_kernel<Reduction::prod>;
  ops.add(std::move(prod));

  OpRecord logsumexp = reduction("logsumexp",
                                 "ln(sum(exp(x))) over the axes, computed as max + ln(sum(exp(x - "
                                 "max))); -inf for an empty range or if all elements are -inf.");
  logsumexp.infer = infer_floating;
  logsumexp.kernel = reduce_kernel<Reduction::logsumexp>;
  ops.add(std::move(logsumexp));

  OpRecord any = reduction("any", "True if any element is true; false for an empty range.");
  any.infer = infer_logical;
  any.kernel = reduce_kernel<Reduction::any>;
  any.gradient = Gradient::none;
  any.no_gradient_reason = "its operand and its result are bool";
  ops.add(std::move(any));

  OpRecord all = reduction("all", "True if all elements are true; true for an empty range.");
  all.infer = infer_logical;
  all.kernel = reduce_kernel<Reduction::all>;
  all.gradient = Gradient::none;
  all.no_gradient_reason = "its operand and its result are bool";
  ops.add(std::move(all));

  add_arg_reduce_ops(ops);
  add_block_sums_op(ops);
}

}  // namespace weft
