// The op that writes a block into every row of a batch, each at its own position.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "weft/core/error.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

// Operands of tensor_scatter.
enum : int { kTarget, kUpdate, kStart, kRows };

std::vector<ValueType> infer_tensor_scatter(const InferContext& c) {
  c.require_same_dtype(kTarget, kUpdate);
  const int axis = checked_axis(c);
  const Shape &x = c.shape(kTarget), &update = c.shape(kUpdate);
  if (axis == 0) throw ShapeError("axis must not be 0, the axis of the rows");
  c.require_rank(kUpdate, x.rank(), "update");
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || (i == 0 && c.has(kRows))) continue;
    const bool rows = i == 0;
    c.require_equal(x[i], update[i],
                    rows ? "rows (axis 0) of x and update without the operand 'rows'"
                         : fmt::format("axis {} of x and update", i));
  }
  const bool table = c.has(kRows) && c.shape(kRows).rank() == 2;
  const Dim length = table ? c.shape(kRows)[1] * x[axis] : x[axis];
  const Dim room = length - update[axis];
  if (room.is_constant() && room.constant() < 0) {
    throw ShapeError(
        fmt::format("update {} does not fit into x {}: axis {}", update.str(), x.str(), axis));
  }
  c.require_index(kStart, "start");
  c.require_shape(kStart, Shape{update[0]}, "start");
  if (!c.has(kRows)) return {c.input(kTarget)};
  c.require_index(kRows, "rows");
  if (!table) {
    c.require_shape(kRows, Shape{update[0]}, "rows");
    return {c.input(kTarget)};
  }
  c.require_equal(c.shape(kRows)[0], update[0], "axis 0 of rows and update");
  if (c.attributes().flag("circular")) {
    throw ArgumentError("circular cannot be combined with several rows per block of update");
  }
  return {c.input(kTarget)};
}

/// The sizes of x [rows, outer, length, inner], of update [blocks, outer, added, inner] and of rows
/// [blocks, columns].
struct Blocks {
  std::int64_t rows, outer, length, inner, blocks, added, columns;
  bool table, circular;
};

/// Entries of x that a part of a block of update replaces.
struct Part {
  std::int64_t row = 0, first = 0, count = 0;  // entries [first, first + count) of this row
  std::int64_t block = 0, column = 0;          // the element of `rows` that selects the row
  std::int64_t from = 0;                       // the first entry within the block
};

/// Reads the start and the rows of each block.
struct Places {
  const void *start, *rows;  // rows is null if block b is written into row b
  DType start_type, rows_type;

  std::int64_t start_of(std::int64_t b) const { return read_index(start, start_type, b); }
  std::int64_t row_of(std::int64_t b, const Blocks& sizes, std::int64_t column) const {
    return rows == nullptr ? b : read_index(rows, rows_type, b * sizes.columns + column);
  }
  /// Calls f(part) for the parts of block b, each of which is in one row, without those that are
  /// not written. There are several if the block continues in the next row, or at the beginning of
  /// its row.
  template <class F>
  void for_each_part(std::int64_t b, const Blocks& sizes, const F& f) const {
    if (sizes.added == 0) return;
    const std::int64_t start = sizes.circular ? start_of(b) % sizes.length : start_of(b);
    for (std::int64_t from = 0, count = 0; from < sizes.added; from += count) {
      const std::int64_t first = (start + from) % sizes.length;
      const std::int64_t column = sizes.table ? (start + from) / sizes.length : 0;
      count = std::min(sizes.added - from, sizes.length - first);
      const std::int64_t row = row_of(b, sizes, column);
      if (!sizes.table || row != -1) f(Part{row, first, count, b, column, from});
    }
  }
};

std::string name_of(const Part& part, const Blocks& sizes) {
  return sizes.table ? fmt::format("rows[{}, {}]", part.block, part.column)
                     : fmt::format("rows[{}]", part.block);
}

void check_places(const Places& places, const Blocks& sizes, std::int64_t axis) {
  std::vector<Part> parts;
  const auto check_row = [&](const Part& part) {
    if (part.row >= 0 && part.row < sizes.rows) return;
    throw DataError(fmt::format("{} is {}, but x has {} rows: it must be in [0, {})",
                                name_of(part, sizes), part.row, sizes.rows, sizes.rows));
  };
  for (std::int64_t b = 0; b < sizes.blocks; ++b) {
    const std::int64_t start = places.start_of(b);
    const std::int64_t length = sizes.length * sizes.columns;
    if (sizes.circular && start < 0)
      throw DataError(fmt::format("start[{}] is {}: it must not be negative", b, start));
    if (!sizes.circular && (start < 0 || start > length - sizes.added)) {
      throw DataError(
          fmt::format("start[{}] is {}: a block of {} in axis {} of size {} can begin at 0 to {}",
                      b, start, sizes.added, axis, length, length - sizes.added));
    }
    if (!sizes.table) check_row({.row = places.row_of(b, sizes, 0), .block = b});
    places.for_each_part(b, sizes, [&](const Part& part) {
      check_row(part);
      parts.push_back(part);
    });
  }
  if (places.rows == nullptr || sizes.outer * sizes.inner == 0) return;
  // Parts of a row must not overlap, because the result would depend on their order.
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.row, a.first, a.block) < std::tie(b.row, b.first, b.block);
  });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Part &a = parts[i - 1], &b = parts[i];
    if (a.row != b.row || a.first + a.count <= b.first) continue;
    throw DataError(fmt::format(
        "{} and {} are both {}, and their blocks of {}, which begin at {} and {}, overlap",
        name_of(a, sizes), name_of(b, sizes), a.row, sizes.added, places.start_of(a.block),
        places.start_of(b.block)));
  }
}

Kernel tensor_scatter_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[kTarget], &update = r.inputs[kUpdate];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines to = lines_around(x.sizes, axis), from = lines_around(update.sizes, axis);
  const std::int64_t rows = x.sizes[0], blocks = update.sizes[0];
  std::int64_t outer = 1;
  for (std::size_t i = 1; i < static_cast<std::size_t>(axis); ++i) outer *= x.sizes[i];
  const bool by_row = r.has_input(kRows), table = by_row && r.inputs[kRows].sizes.size() == 2;
  const Blocks sizes{.rows = rows,
                     .outer = outer,
                     .length = to.length,
                     .inner = to.inner,
                     .blocks = blocks,
                     .added = from.length,
                     .columns = table ? r.inputs[kRows].sizes[1] : 1,
                     .table = table,
                     .circular = r.attributes.flag("circular")};
  if (sizes.added > sizes.length * sizes.columns) {
    throw ShapeError(fmt::format("update {} does not fit into x {}: axis {}",
                                 Shape(update.sizes).str(), Shape(x.sizes).str(), axis));
  }
  const auto places = [by_row, start_type = r.inputs[kStart].dtype,
                       rows_type =
                           by_row ? r.inputs[kRows].dtype : DType::i64](const KernelRun& run) {
    return Places{run.inputs[kStart], by_row ? run.inputs[kRows] : nullptr, start_type, rows_type};
  };
  const std::size_t size = dtype_size(x.dtype);
  const std::int64_t block = sizes.added * sizes.inner, units = blocks * outer;
  Phase write;
  write.chunks =
      chunk_count(units, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, block)));
  write.cost_ns = 0.4 * static_cast<double>(update.numel());
  write.body = [=, chunks = write.chunks](const KernelRun& run, std::int64_t chunk) {
    const Places at = places(run);
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    const auto bytes = [size](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * size;
    };
    for (std::int64_t unit = begin; block > 0 && unit < end; ++unit) {
      const std::int64_t b = unit / sizes.outer, o = unit % sizes.outer;
      at.for_each_part(b, sizes, [&](const Part& part) {
        const std::int64_t entry = (part.row * sizes.outer + o) * sizes.length + part.first;
        std::memcpy(run.out<std::byte>(0) + bytes(entry * sizes.inner),
                    run.in<std::byte>(kUpdate) + bytes(unit * block + part.from * sizes.inner),
                    bytes(part.count * sizes.inner));
      });
    }
  };
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, kTarget));
  kernel.phases.push_back(std::move(write));
  kernel.check = [=](const KernelRun& run) { check_places(places(run), sizes, axis); };
  return kernel;
}

}  // namespace

void add_tensor_scatter_ops(OpSet& ops) {
  OpRecord scatter;
  scatter.name = "tensor_scatter";
  scatter.doc =
      "A copy of x [S,...,L,...] in which a block of update [B,...,n,...] replaces n entries of "
      "the axis in each row: out[rows[b],...,start[b] + i,...] = update[b,...,i,...]. start and "
      "rows are [B]; without rows, B = S and block b belongs to row b. If circular, entries are "
      "counted modulo L, so that blocks continue at the beginning of the axis. With rows [B,C], "
      "entry j = start[b] + i of block b is entry j mod L of row rows[b, j / L], and is not "
      "written "
      "if that is -1. Blocks that overlap are a data error (ONNX: TensorScatter). Used to append "
      "to key and value caches.";
  scatter.inputs = {{"x"}, {"update"}, {"start"}, {"rows", Arity::optional}};
  scatter.attributes = {{"axis", std::int64_t{0}, true}, {"circular", false}};
  scatter.inplace = {{0, kTarget}};
  scatter.infer = infer_tensor_scatter;
  scatter.kernel = tensor_scatter_kernel;
  scatter.cost = part_cost<kUpdate>;
  ops.add(std::move(scatter));
}

}  // namespace weft
