#include "weft/ops/quantized/int8_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/ops/kernels/quantized/int8_rows.h"

namespace weft {
namespace {

using kernels::kRowScaleBytes;

// Returns the shape with `more` elements added to the last axis.
Shape widened(const Shape& shape, std::int64_t more) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  dims.back() = dims.back() + more;
  return Shape(std::move(dims));
}

std::vector<ValueType> infer_pack(const InferContext& c) {
  c.require_dtype(0, DType::f32, "x");
  c.require_min_rank(0, 1, "x");
  return {{DType::i8, widened(c.shape(0), kRowScaleBytes)}};
}

std::vector<ValueType> infer_unpack(const InferContext& c) {
  c.require_dtype(0, DType::i8, "x");
  c.require_min_rank(0, 1, "x");
  const Dim last = c.shape(0)[c.rank(0) - 1];
  if (last.is_constant() && last.constant() < kRowScaleBytes) {
    throw ShapeError(
        fmt::format("the last axis of x holds numbers and a scale of {} bytes, but has {} elements",
                    kRowScaleBytes, last.constant()));
  }
  return {{DType::f32, widened(c.shape(0), -kRowScaleBytes)}};
}

// Returns a kernel that calls convert(run, first row, number of rows) for parts of the rows.
template <class Convert>
Kernel row_kernel(const OperandSpec& packed, Convert convert) {
  const std::int64_t width = packed.sizes.back(), rows = width == 0 ? 0 : packed.numel() / width;
  Phase phase;
  phase.chunks = chunk_count(rows, std::max<std::int64_t>(1, 16384 / (width + 1)));
  phase.cost_ns = 0.2 * static_cast<double>(rows * width);
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    convert(run, begin, end - begin);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel pack_kernel(const KernelRequest& r) {
  const std::int64_t size = r.inputs[0].sizes.back();
  return row_kernel(
      r.outputs[0], [size](const KernelRun& run, std::int64_t first, std::int64_t rows) {
        kernels::pack_int8_rows(run.in<float>(0) + first * size, rows, size,
                                run.out<std::int8_t>(0) + first * (size + kRowScaleBytes));
      });
}

Kernel unpack_kernel(const KernelRequest& r) {
  const std::int64_t size = r.outputs[0].sizes.back();
  return row_kernel(
      r.inputs[0], [size](const KernelRun& run, std::int64_t first, std::int64_t rows) {
        kernels::unpack_int8_rows(run.in<std::int8_t>(0) + first * (size + kRowScaleBytes), rows,
                                  size, run.out<float>(0) + first * size);
      });
}

}  // namespace

void add_int8_rows(OpSet& ops) {
  OpRecord pack;
  pack.name = "pack_int8_rows";
  pack.doc =
      "Stores the rows (last axis) of x, f32, as i8 rows that are 4 elements longer: the levels of "
      "quantize_rows(x), followed by the bytes of the f32 step. For key and value caches.";
  pack.inputs = {{"x"}};
  pack.infer = infer_pack;
  pack.kernel = pack_kernel;
  pack.gradient = Gradient::none;
  pack.no_gradient_reason = "caches are not trained: differentiate the program with float caches";
  ops.add(std::move(pack));

  OpRecord unpack;
  unpack.name = "unpack_int8_rows";
  unpack.doc =
      "The inverse of pack_int8_rows, up to rounding: level * scale, f32. The last axis is 4 "
      "elements shorter than that of x.";
  unpack.inputs = {{"x"}};
  unpack.infer = infer_unpack;
  unpack.kernel = unpack_kernel;
  unpack.gradient = Gradient::none;
  unpack.no_gradient_reason = "caches are not trained: differentiate the program with float caches";
  ops.add(std::move(unpack));
}

}  // namespace weft
