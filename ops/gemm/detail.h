// What parallel.cc and skinny.cc share; not for others.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/gemm/tiling.h"
#include "weft/ops/kernel.h"

namespace weft::products {

using kernels::GemmEngine;
using kernels::MatrixSource;

using Pointers = std::function<ProductPointers(const KernelRun&)>;
using Finish = std::function<void(const KernelRun&, const FinishedTile&)>;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::size_t round_up_64(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
inline std::size_t times(std::int64_t count, std::size_t bytes) {
  return static_cast<std::size_t>(count) * bytes;
}

// A part of the rows, columns or depth.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};
inline Range piece(const Range& whole, std::int64_t size, std::int64_t index) {
  const std::int64_t begin = whole.begin + index * size;
  return {begin, std::min(begin + size, whole.end)};
}

// What all phases of one product (or of one batch of them) know.
struct Product {
  ProductShape shape;
  Pointers pointers;
  Finish finish;
  const GemmEngine* engine = nullptr;
  ProductPlan plan;
  std::size_t shared_begin = 0, slot_begin = 0;
  std::size_t shared_b = 0;            // packed B in shared scratch, after packed A
  std::size_t slot_a = 0, slot_b = 0;  // after the engine's own scratch

  MatrixSource source(const ProductOperand& operand, const void* data, std::int64_t product) const {
    const std::int64_t bytes = static_cast<std::int64_t>(dtype_size(operand.dtype));
    return {static_cast<const std::byte*>(data) + operand.offsets[product] * bytes, operand.dtype,
            operand.row_stride, operand.column_stride};
  }
  std::byte* c_at(void* c, std::int64_t product, std::int64_t row, std::int64_t column) const {
    const std::int64_t offset = shape.c.offsets[product] + row * shape.c.row_stride + column;
    return static_cast<std::byte*>(c) +
           offset * static_cast<std::int64_t>(dtype_size(shape.c.dtype));
  }
  std::int64_t row_panels(std::int64_t rows) const { return divide_up(rows, engine->row_panel); }
  std::int64_t column_panels(std::int64_t columns) const {
    return divide_up(columns, engine->column_panel);
  }
  // Shared panels of a range: blocks of the depth one after the other, each with all its panels.
  std::size_t a_panel(std::int64_t panels, std::int64_t block, std::int64_t panel,
                      std::int64_t depth) const {
    return times(block * panels, engine->a_panel_bytes(engine->depth_block)) +
           times(panel, engine->a_panel_bytes(depth));
  }
  std::size_t b_panel(std::int64_t panels, std::int64_t block, std::int64_t panel,
                      std::int64_t depth) const {
    return times(block * panels, engine->b_panel_bytes(engine->depth_block)) +
           times(panel, engine->b_panel_bytes(depth));
  }
  void finished(const KernelRun& run, std::int64_t product, const Range& rows, const Range& columns,
                void* c) const {
    if (finish == nullptr || rows.size() == 0 || columns.size() == 0) return;
    finish(run, {.product = product,
                 .row = rows.begin,
                 .column = columns.begin,
                 .rows = rows.size(),
                 .columns = columns.size(),
                 .c = c_at(c, product, rows.begin, columns.begin),
                 .c_stride = shape.c.row_stride});
  }
};
using ProductRef = std::shared_ptr<const Product>;

/// Appends the phase that adds the parts of the depth, which lie in shared scratch, in order.
void add_sum_of_parts(Kernel& kernel, const ProductRef& p, std::int64_t product);

/// Appends a product of few rows or columns that reads the large operand as it lies, if it is one:
/// else false. `reserve(shared, slot)` asks for bytes of scratch.
bool add_few_rows_product(Kernel& kernel, const std::shared_ptr<Product>& p,
                          const std::function<void(std::size_t, std::size_t)>& reserve);

}  // namespace weft::products
