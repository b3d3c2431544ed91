// Ops that read and update blocks of a tensor at positions that are known only at run time.
#include <fmt/format.h>

#include <memory>

#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

using kernels::StridedCopy;

void check_start(const InferContext& c, int start) {
  c.require_index(start, "start");
  if (c.rank(start) != 1 || !c.equal(c.shape(start)[0], Dim(c.rank(0)))) {
    throw ShapeError(fmt::format("start must have shape [{}], one entry per axis of x, but has {}",
                                 c.rank(0), c.shape(start).str()));
  }
}

/// Checks that a block of `sizes` fits into x.
void check_block(const Shape& sizes, const Shape& x, std::string_view what) {
  if (sizes.rank() != x.rank()) {
    throw ShapeError(fmt::format("{} {} must have one size for each of the {} axes of x", what,
                                 sizes.str(), x.rank()));
  }
  for (int i = 0; i < x.rank(); ++i) {
    const Dim room = x[i] - sizes[i];
    const bool negative = sizes[i].is_constant() && sizes[i].constant() < 0;
    if (negative || (room.is_constant() && room.constant() < 0)) {
      throw ShapeError(
          fmt::format("{} {} do not fit into x {}: axis {}", what, sizes.str(), x.str(), i));
    }
  }
}

std::function<void(const KernelRun&)> start_check(const OperandSpec& start, std::size_t input,
                                                  const Sizes& x, const Sizes& block) {
  return [dtype = start.dtype, input, x, block](const KernelRun& run) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t at = read_index(run.inputs[input], dtype, static_cast<std::int64_t>(i));
      if (at >= 0 && at <= x[i] - block[i]) continue;
      throw DataError(fmt::format(
          "start {} at position {} is out of range: a block of {} in axis {} of size {} can "
          "begin at 0 to {}",
          at, i, block[i], i, x[i], x[i] - block[i]));
    }
  };
}

/// Returns the offset of the block from the beginning of x, in bytes.
std::size_t block_offset(const void* start, DType dtype, const Sizes& strides, std::size_t size) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    offset += read_index(start, dtype, static_cast<std::int64_t>(i)) * strides[i];
  }
  return static_cast<std::size_t>(offset) * size;
}

std::vector<ValueType> infer_dynamic_slice(const InferContext& c) {
  const Shape& sizes = c.attributes().shape("sizes");
  check_start(c, 1);
  check_block(sizes, c.shape(0), "sizes");
  return {{c.dtype(0), sizes}};
}

Kernel dynamic_slice_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &start = r.inputs[1], &out = r.outputs[0];
  check_block(Shape(out.sizes), Shape(x.sizes), "sizes");
  const Sizes strides = row_major_strides(x.sizes);
  const std::size_t size = dtype_size(x.dtype);
  auto copy =
      std::make_shared<const StridedCopy>(out.sizes, strides, row_major_strides(out.sizes), size);
  Phase phase;
  phase.chunks = copy->chunks();
  phase.cost_ns = copy->cost_ns();
  phase.body = [copy, strides, size, dtype = start.dtype](const KernelRun& run,
                                                          std::int64_t chunk) {
    copy->run(run.in<std::byte>(0) + block_offset(run.inputs[1], dtype, strides, size),
              run.out<std::byte>(0), chunk);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  kernel.check = start_check(start, 1, x.sizes, out.sizes);
  return kernel;
}

std::vector<ValueType> infer_dynamic_update(const InferContext& c) {
  c.require_same_dtype(0, 1);
  check_start(c, 2);
  check_block(c.shape(1), c.shape(0), "update sizes");
  return {c.input(0)};
}

Kernel dynamic_update_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &update = r.inputs[1], &start = r.inputs[2];
  check_block(Shape(update.sizes), Shape(x.sizes), "update sizes");
  const Sizes strides = row_major_strides(x.sizes);
  const std::size_t size = dtype_size(x.dtype);
  auto copy = std::make_shared<const StridedCopy>(update.sizes, row_major_strides(update.sizes),
                                                  strides, size);
  Phase phase;
  phase.chunks = copy->chunks();
  phase.cost_ns = copy->cost_ns();
  phase.body = [copy, strides, size, dtype = start.dtype](const KernelRun& run,
                                                          std::int64_t chunk) {
    copy->run(run.in<std::byte>(1),
              run.out<std::byte>(0) + block_offset(run.inputs[2], dtype, strides, size), chunk);
  };
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  kernel.phases.push_back(std::move(phase));
  kernel.check = start_check(start, 2, x.sizes, update.sizes);
  return kernel;
}

}  // namespace

void add_dynamic_slice_ops(OpSet& ops) {
  OpRecord slice;
  slice.name = "dynamic_slice";
  slice.doc =
      "The block of x with `sizes` that begins at start, which contains one index per axis.";
  slice.inputs = {{"x"}, {"start"}};
  slice.attributes = {{"sizes", Shape(), true}};
  slice.infer = infer_dynamic_slice;
  slice.kernel = dynamic_slice_kernel;
  slice.cost = movement_cost;
  ops.add(std::move(slice));

  OpRecord update;
  update.name = "dynamic_update_slice";
  update.doc = "A copy of x in which the block that begins at start is replaced by update.";
  update.inputs = {{"x"}, {"update"}, {"start"}};
  update.inplace = {{0, 0}};
  update.infer = infer_dynamic_update;
  update.kernel = dynamic_update_kernel;
  update.cost = part_cost<1>;
  ops.add(std::move(update));
}

}  // namespace weft
