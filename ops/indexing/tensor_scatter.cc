// The op that writes a block into every row of a batch, each at its own position.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

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
  const Dim room = x[axis] - update[axis];
  if (room.is_constant() && room.constant() < 0) {
    throw ShapeError(
        fmt::format("update {} does not fit into x {}: axis {}", update.str(), x.str(), axis));
  }
  c.require_index(kStart, "start");
  c.require_shape(kStart, Shape{update[0]}, "start");
  if (c.has(kRows)) {
    c.require_index(kRows, "rows");
    c.require_shape(kRows, Shape{update[0]}, "rows");
  }
  return {c.input(kTarget)};
}

/// The sizes of x [rows, outer, length, inner] and of update [blocks, outer, added, inner].
struct Blocks {
  std::int64_t rows, outer, length, inner, blocks, added;
  bool circular;
};

/// Reads the start and the row of each block.
struct Places {
  const void *start, *rows;  // rows is null if block b is written into row b
  DType start_type, rows_type;

  std::int64_t start_of(std::int64_t b) const { return read_index(start, start_type, b); }
  std::int64_t row_of(std::int64_t b) const {
    return rows == nullptr ? b : read_index(rows, rows_type, b);
  }
};

void check_places(const Places& places, const Blocks& sizes, std::int64_t axis) {
  for (std::int64_t b = 0; b < sizes.blocks; ++b) {
    const std::int64_t start = places.start_of(b), row = places.row_of(b);
    if (sizes.circular && start < 0)
      throw DataError(fmt::format("start[{}] is {}: it must not be negative", b, start));
    if (!sizes.circular && (start < 0 || start > sizes.length - sizes.added)) {
      throw DataError(
          fmt::format("start[{}] is {}: a block of {} in axis {} of size {} can begin at 0 to {}",
                      b, start, sizes.added, axis, sizes.length, sizes.length - sizes.added));
    }
    if (row < 0 || row >= sizes.rows) {
      throw DataError(fmt::format("rows[{}] is {}, but x has {} rows: it must be in [0, {})", b,
                                  row, sizes.rows, sizes.rows));
    }
  }
  if (places.rows == nullptr || sizes.added * sizes.outer * sizes.inner == 0) return;
  // Blocks in the same row must not overlap, because the result would depend on their order.
  std::vector<std::int64_t> order(static_cast<std::size_t>(sizes.blocks));
  std::iota(order.begin(), order.end(), 0);
  const auto first_entry = [&](std::int64_t b) {
    return sizes.circular ? places.start_of(b) % sizes.length : places.start_of(b);
  };
  const auto place = [&](std::int64_t b) {
    return std::tuple(places.row_of(b), first_entry(b), b);
  };
  std::sort(order.begin(), order.end(),
            [&](std::int64_t a, std::int64_t b) { return place(a) < place(b); });
  const auto check = [&](std::int64_t a, std::int64_t b, std::int64_t distance) {
    if (distance >= sizes.added) return;
    throw DataError(fmt::format(
        "rows[{}] and rows[{}] are both {}, and their blocks of {}, which begin at {} and {}, "
        "overlap",
        a, b, places.row_of(a), sizes.added, places.start_of(a), places.start_of(b)));
  };
  std::int64_t first = order.empty() ? 0 : order.front();  // of the blocks in a row
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::int64_t a = order[i - 1], b = order[i];
    if (places.row_of(a) != places.row_of(b)) {
      first = b;
      continue;
    }
    check(a, b, first_entry(b) - first_entry(a));
    // The last block of a row may continue at its beginning.
    if (sizes.circular) check(first, b, first_entry(first) + sizes.length - first_entry(b));
  }
}

Kernel tensor_scatter_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[kTarget], &update = r.inputs[kUpdate];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines to = lines_around(x.sizes, axis), from = lines_around(update.sizes, axis);
  const std::int64_t rows = x.sizes[0], blocks = update.sizes[0];
  std::int64_t outer = 1;
  for (std::size_t i = 1; i < static_cast<std::size_t>(axis); ++i) outer *= x.sizes[i];
  const Blocks sizes{
      rows, outer, to.length, to.inner, blocks, from.length, r.attributes.flag("circular")};
  if (sizes.added > sizes.length) {
    throw ShapeError(fmt::format("update {} does not fit into x {}: axis {}",
                                 Shape(update.sizes).str(), Shape(x.sizes).str(), axis));
  }
  const bool by_row = r.has_input(kRows);
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
      const std::int64_t line = (at.row_of(b) * sizes.outer + o) * sizes.length;
      const std::int64_t start = at.start_of(b) % sizes.length;
      const std::int64_t before_end = std::min(sizes.added, sizes.length - start) * sizes.inner;
      std::byte* to = run.out<std::byte>(0) + bytes(line * sizes.inner);
      const std::byte* from = run.in<std::byte>(kUpdate) + bytes(unit * block);
      std::memcpy(to + bytes(start * sizes.inner), from, bytes(before_end));
      std::memcpy(to, from + bytes(before_end), bytes(block - before_end));
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
      "counted modulo L, so that blocks continue at the beginning of the axis. Blocks that "
      "overlap are a data error (ONNX: TensorScatter). Used to append to key and value caches.";
  scatter.inputs = {{"x"}, {"update"}, {"start"}, {"rows", Arity::optional}};
  scatter.attributes = {{"axis", std::int64_t{0}, true}, {"circular", false}};
  scatter.inplace = {{0, kTarget}};
  scatter.infer = infer_tensor_scatter;
  scatter.kernel = tensor_scatter_kernel;
  scatter.cost = part_cost<kUpdate>;
  ops.add(std::move(scatter));
}

}  // namespace weft
