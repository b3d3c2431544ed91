// The functions in shape.h that are composed of several ops.
#include <fmt/format.h>

#include <algorithm>

#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Pads = std::vector<std::pair<Dim, Dim>>;

bool is_zero(const Dim& d) { return d == Dim(0); }

Value pad_constant(const Value& v, const Pads& pads, double value) {
  Shape before, after;
  for (const auto& [b, a] : pads) {
    before.push_back(b);
    after.push_back(a);
  }
  return v.graph()
      .apply("pad", {v}, {{"before", before}, {"after", after}, {"value", value}})
      .output(0);
}

// Pads one axis with its border elements: mirrored slices, or the first and last element repeated.
Value pad_axis(const Value& v, int axis, const Dim& before, const Dim& after, PadMode mode) {
  const Dim n = v.shape()[axis];
  const auto part = [&](const Dim& start, const Dim& size, std::int64_t step) {
    Shape starts(std::vector<Dim>(static_cast<std::size_t>(v.rank()), Dim(0)));
    Shape sizes = v.shape();
    std::vector<std::int64_t> steps(static_cast<std::size_t>(v.rank()), 1);
    starts[axis] = start;
    sizes[axis] = size;
    steps[static_cast<std::size_t>(axis)] = step;
    return v.graph()
        .apply("slice", {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", std::move(steps)}})
        .output(0);
  };
  const auto repeated = [&](const Dim& place, const Dim& size) {
    Shape shape = v.shape();
    shape[axis] = size;
    return broadcast_to(part(place, 1, 1), shape);
  };
  std::vector<Value> parts;
  if (!is_zero(before)) {
    parts.push_back(mode == PadMode::reflect ? part(before, before, -1) : repeated(0, before));
  }
  parts.push_back(v);
  if (!is_zero(after)) {
    parts.push_back(mode == PadMode::reflect ? part(n - 2, after, -1) : repeated(n - 1, after));
  }
  return parts.size() == 1 ? v : concat(parts, axis);
}

Value keep_triangle(const Arg& x, std::int64_t k, bool lower) {
  const std::string_view name = lower ? "tril" : "triu";
  const Value v = x.value(name);
  Graph& graph = v.graph();
  if (v.rank() < 2) {
    graph.fail(ShapeError(fmt::format("x must have at least 2 axes, but has {}", v.rank())), name,
               {v}, x.location());
  }
  const Graph::Frame frame(graph, name, x.location());
  const Dim& rows = v.size(-2);
  const Dim& columns = v.size(-1);
  // No matrix has more diagonals than this, and sums of an index and k cannot overflow.
  constexpr std::int64_t kMaxDiagonal = std::int64_t{1} << 52;
  const Value row =
      apply_binary("add", iota(graph, {rows, 1}, 0), std::clamp(k, -kMaxDiagonal, kMaxDiagonal));
  const Value column = iota(graph, {1, columns}, 1);
  const Value kept =
      lower ? apply_binary("less_equal", column, row) : apply_binary("greater_equal", column, row);
  return graph.apply("where", {kept, v, graph.scalar(v.dtype(), 0)}).output(0);
}

}  // namespace

Value pad(Arg x, const Pads& pads, const PadOptions& options) {
  const Value v = x.value("pad");
  Graph& graph = v.graph();
  if (static_cast<int>(pads.size()) != v.rank()) {
    graph.fail(
        ArgumentError(fmt::format("got {} pairs of paddings for {} axes", pads.size(), v.rank())),
        "pad", {v}, x.location());
  }
  const Graph::Frame frame(graph, "pad", x.location());
  if (options.mode == PadMode::constant) return pad_constant(v, pads, options.value);
  Value out = v;
  for (int axis = 0; axis < v.rank(); ++axis) {
    const auto& [before, after] = pads[static_cast<std::size_t>(axis)];
    out = pad_axis(out, axis, before, after, options.mode);
  }
  return out;
}

Value repeat(Arg x, const std::vector<std::int64_t>& repeats) {
  const Value v = x.value("repeat");
  Graph& graph = v.graph();
  const int rank = std::max(v.rank(), static_cast<int>(repeats.size()));
  Shape ones_between, broadcast, merged;
  for (int i = 0; i < rank; ++i) {
    const int from = i - (rank - v.rank());
    const int at = i - (rank - static_cast<int>(repeats.size()));
    const Dim size = from < 0 ? Dim(1) : v.shape()[from];
    const std::int64_t times = at < 0 ? 1 : repeats[static_cast<std::size_t>(at)];
    if (times < 0) {
      graph.fail(ArgumentError(fmt::format("cannot repeat {} times", times)), "repeat", {v},
                 x.location());
    }
    if (times != 1) {
      ones_between.push_back(1);
      broadcast.push_back(times);
    }
    ones_between.push_back(size);
    broadcast.push_back(size);
    merged.push_back(size * Dim(times));
  }
  const Graph::Frame frame(graph, "repeat", x.location());
  return reshape(broadcast_to(reshape(v, ones_between), broadcast), merged);
}

Value repeat_interleave(Arg x, std::int64_t repeats, int axis) {
  const Value v = x.value("repeat_interleave");
  Graph& graph = v.graph();
  const int at = resolve_axis(axis, v, "repeat_interleave", x.location());
  if (repeats < 0) {
    graph.fail(ArgumentError(fmt::format("cannot repeat {} times", repeats)), "repeat_interleave",
               {v}, x.location());
  }
  const Graph::Frame frame(graph, "repeat_interleave", x.location());
  const Value wide = unsqueeze(v, at + 1);
  Shape shape = wide.shape(), merged = v.shape();
  shape[at + 1] = repeats;
  merged[at] *= Dim(repeats);
  return reshape(broadcast_to(wide, shape), merged);
}

Value roll(Arg x, std::int64_t shift, int axis) {
  const Value v = x.value("roll");
  const int at = resolve_axis(axis, v, "roll", x.location());
  const Dim n = v.shape()[at];
  Dim first = shift;  // number of elements that move from the end to the beginning
  if (n.is_constant()) {
    if (n.constant() == 0) return v;
    first = ((shift % n.constant()) + n.constant()) % n.constant();
  } else if (shift < 0) {
    first = n + shift;
  }
  if (is_zero(first)) return v;
  const Graph::Frame frame(v.graph(), "roll", x.location());
  const auto parts = split(v, {n - first, first}, at);
  return concat({parts[1], parts[0]}, at);
}

Value tril(Arg x, std::int64_t k) { return keep_triangle(x, k, true); }
Value triu(Arg x, std::int64_t k) { return keep_triangle(x, k, false); }

Value pixel_shuffle(Arg x, std::int64_t r) {
  const Value v = x.value("pixel_shuffle");
  Graph& graph = v.graph();
  const auto channels = v.rank() == 4 && r > 0 ? Dim::try_exact_div(v.shape()[1], Dim(r) * Dim(r))
                                               : std::optional<Dim>();
  if (!channels) {
    graph.fail(ShapeError(fmt::format("x must be [N, C * {0} * {0}, H, W], but is {1}", r,
                                      v.shape().str())),
               "pixel_shuffle", {v}, x.location());
  }
  const Dim batch = v.shape()[0], height = v.shape()[2], width = v.shape()[3];
  const Graph::Frame frame(graph, "pixel_shuffle", x.location());
  const Value split_up = reshape(v, Shape{batch, *channels, r, r, height, width});
  return reshape(permute(split_up, {0, 1, 4, 2, 5, 3}),
                 Shape{batch, *channels, height * Dim(r), width * Dim(r)});
}

Value iota(Graph& graph, const Shape& shape, int axis, DType dtype, SourceLocation loc) {
  const std::int64_t at = resolve_axis(axis, shape.rank(), graph, {}, "iota", loc);
  return graph.apply("iota", {}, {{"shape", shape}, {"axis", at}, {"dtype", dtype}}, loc).output(0);
}

Value arange(Graph& graph, const Dim& n, DType dtype, SourceLocation loc) {
  return iota(graph, Shape{n}, 0, dtype, loc);
}

Value dim_value(Graph& graph, const Dim& dim, DType dtype, SourceLocation loc) {
  return graph.apply("dim_value", {}, {{"dim", dim}, {"dtype", dtype}}, loc).output(0);
}

Value full(Graph& graph, DType dtype, const Shape& shape, double value, SourceLocation loc) {
  const Value element = graph.scalar(dtype, value, loc);
  if (shape.rank() == 0) return element;
  return broadcast_to(Arg(element, loc), shape);
}

Value zeros(Graph& graph, DType dtype, const Shape& shape, SourceLocation loc) {
  return full(graph, dtype, shape, 0, loc);
}
Value ones(Graph& graph, DType dtype, const Shape& shape, SourceLocation loc) {
  return full(graph, dtype, shape, 1, loc);
}

Value full_like(Arg x, double value) {
  const Value v = x.value("full_like");
  return full(v.graph(), v.dtype(), v.shape(), value, x.location());
}
Value zeros_like(Arg x) { return full_like(x, 0); }
Value ones_like(Arg x) { return full_like(x, 1); }

}  // namespace weft
