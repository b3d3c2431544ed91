#include "weft/graph/functions/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft {
namespace {

Dim resolve_size(Graph& graph, const AxisSize& size) {
  if (const Dim* d = std::get_if<Dim>(&size.value())) return *d;
  return graph.dim(std::get<std::string>(size.value()));
}

Shape resolve_sizes(Graph& graph, std::initializer_list<AxisSize> sizes) {
  Shape shape;
  for (const AxisSize& size : sizes) shape.push_back(resolve_size(graph, size));
  return shape;
}

std::vector<std::int64_t> all_steps_one(int rank) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1);
}

/// Replaces a size of -1, if any, with the inferred size.
Shape complete_sizes(const Shape& from, Shape to) {
  int unknown = -1;
  Dim known = 1;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] != Dim(-1)) {
      known *= to[i];
    } else if (unknown < 0) {
      unknown = i;
    } else {
      throw ShapeError(fmt::format("cannot reshape to {}: only one size may be -1", to.str()));
    }
  }
  if (unknown < 0) return to;
  if (known == Dim(0)) {
    throw ShapeError(fmt::format("cannot infer the -1 in {}: another size is 0", to.str()));
  }
  const auto size = Dim::try_exact_div(from.numel(), known);
  if (!size) {
    throw ShapeError(
        fmt::format("cannot reshape {} to {}: {} elements are not provably divisible by {}",
                    from.str(), to.str(), from.numel().str(), known.str()));
  }
  to[unknown] = *size;
  return to;
}

Value reshape_to(const Arg& x, const Value& v, const Shape& shape) {
  Shape complete;
  try {
    complete = complete_sizes(v.shape(), shape);
  } catch (const Error& error) {
    v.graph().fail(error, "reshape", {v}, x.location());
  }
  return v.graph().apply("reshape", {v}, {{"shape", complete}}, x.location()).output(0);
}

struct Range {
  Dim start, size;
};

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// Resolves a slice of an axis of size n. Follows Python's rules if the bounds and the size are
/// constant; symbolic bounds are not clamped.
Range resolve_slice(const Slice& s, const Dim& n) {
  if (s.step == 0) throw ArgumentError("the step of a slice must not be 0");
  const bool forward = s.step > 0;
  const auto bound = [&](const std::optional<Dim>& given, const Dim& otherwise) {
    if (!given) return otherwise;
    Dim d = *given;
    if (!d.is_constant()) return d;
    if (d.constant() < 0) d += n;
    if (!n.is_constant()) return d;
    const std::int64_t low = forward ? 0 : -1;
    const std::int64_t high = forward ? n.constant() : n.constant() - 1;
    return Dim(std::clamp(d.constant(), low, std::max(low, high)));
  };
  const Dim begin = bound(s.begin, forward ? Dim(0) : n - 1);
  const Dim end = bound(s.end, forward ? n : Dim(-1));
  const std::int64_t step = forward ? s.step : -std::max(s.step, -kLargest);
  const Dim span = forward ? end - begin : begin - end;
  if (span.is_constant()) {
    if (span.constant() <= 0) return {0, 0};
    return {begin, Dim((span.constant() - 1) / step + 1)};
  }
  return {begin, step == 1 ? span : floor_div(span + (step - 1), Dim(step))};
}

}  // namespace

// -- Reshaping and reordering of axes -------------------------------------------------------------

Value reshape(Arg x, std::initializer_list<AxisSize> sizes) {
  const Value v = x.value("reshape");
  return reshape_to(x, v, resolve_sizes(v.graph(), sizes));
}
Value reshape(Arg x, const Shape& shape) { return reshape_to(x, x.value("reshape"), shape); }

Value flatten(Arg x, int first, int last) {
  const Value v = x.value("flatten");
  if (v.rank() == 0) return reshape(Arg(v, x.location()), Shape{1});
  const int a = resolve_axis(first, v, "flatten", x.location());
  const int b = resolve_axis(last, v, "flatten", x.location());
  if (a > b) {
    v.graph().fail(
        ArgumentError(fmt::format("the first axis {} comes after the last axis {}", first, last)),
        "flatten", {v}, x.location());
  }
  Shape shape;
  Dim merged = 1;
  for (int i = 0; i < v.rank(); ++i) {
    if (i < a || i > b) {
      shape.push_back(v.shape()[i]);
    } else {
      merged *= v.shape()[i];
      if (i == b) shape.push_back(merged);
    }
  }
  return reshape(Arg(v, x.location()), shape);
}

Value permute(Arg x, const std::vector<int>& order) {
  const Value v = x.value("permute");
  std::vector<std::int64_t> axes;
  for (const int axis : order) axes.push_back(resolve_axis(axis, v, "permute", x.location()));
  return v.graph().apply("permute", {v}, {{"order", std::move(axes)}}, x.location()).output(0);
}

Value transpose(Arg x, int a, int b) {
  const Value v = x.value("transpose");
  std::vector<int> order(static_cast<std::size_t>(v.rank()));
  std::iota(order.begin(), order.end(), 0);
  const int i = resolve_axis(a, v, "transpose", x.location());
  const int j = resolve_axis(b, v, "transpose", x.location());
  std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  return permute(Arg(v, x.location()), order);
}

Value broadcast_to(Arg x, const Shape& shape) {
  const Value v = x.value("broadcast_to");
  return v.graph().apply("broadcast_to", {v}, {{"shape", shape}}, x.location()).output(0);
}
Value broadcast_to(Arg x, std::initializer_list<AxisSize> sizes) {
  const Value v = x.value("broadcast_to");
  return broadcast_to(Arg(v, x.location()), resolve_sizes(v.graph(), sizes));
}

Value squeeze(Arg x, const Axes& axes) {
  const Value v = x.value("squeeze");
  std::vector<std::int64_t> dropped;
  if (axes.all()) {
    for (int i = 0; i < v.rank(); ++i) {
      if (v.shape()[i] == Dim(1)) dropped.push_back(i);
    }
  } else {
    dropped = resolve_axes(axes, v, "squeeze", x.location());
  }
  Shape shape;
  for (int i = 0; i < v.rank(); ++i) {
    if (!std::binary_search(dropped.begin(), dropped.end(), static_cast<std::int64_t>(i))) {
      shape.push_back(v.shape()[i]);
    } else if (v.shape()[i] != Dim(1)) {
      v.graph().fail(
          ShapeError(fmt::format("axis {} has size {}, but only axes of size 1 can be dropped", i,
                                 v.shape()[i].str())),
          "squeeze", {v}, x.location());
    }
  }
  return reshape(Arg(v, x.location()), shape);
}

Value unsqueeze(Arg x, int axis) {
  const Value v = x.value("unsqueeze");
  const int at = resolve_axis(axis, v.rank() + 1, v.graph(), {v}, "unsqueeze", x.location());
  std::vector<Dim> dims = v.shape().dims();
  dims.insert(dims.begin() + at, Dim(1));
  return reshape(Arg(v, x.location()), Shape(std::move(dims)));
}

// -- Slicing and splitting ------------------------------------------------------------------------

Value slice(Arg x, const std::vector<Slice>& slices) {
  const Value v = x.value("slice");
  if (static_cast<int>(slices.size()) > v.rank()) {
    v.graph().fail(ShapeError(fmt::format("got {} slices for {} axes", slices.size(), v.rank())),
                   "slice", {v}, x.location());
  }
  Shape starts, sizes;
  std::vector<std::int64_t> steps;
  for (int i = 0; i < v.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Slice s = at < slices.size() ? slices[at] : Slice{};
    try {
      Range range = resolve_slice(s, v.shape()[i]);
      starts.push_back(std::move(range.start));
      sizes.push_back(std::move(range.size));
    } catch (const Error& error) {
      v.graph().fail(error, "slice", {v}, x.location());
    }
    steps.push_back(s.step);
  }
  return v.graph()
      .apply("slice", {v}, {{"starts", starts}, {"sizes", sizes}, {"steps", std::move(steps)}},
             x.location())
      .output(0);
}

Value slice(Arg x, int axis, const Slice& one) {
  const Value v = x.value("slice");
  const int at = resolve_axis(axis, v, "slice", x.location());
  std::vector<Slice> slices(static_cast<std::size_t>(at) + 1);
  slices.back() = one;
  return slice(Arg(v, x.location()), slices);
}

Value select(Arg x, int axis, const Dim& index) {
  const Value v = x.value("select");
  const int at = resolve_axis(axis, v, "select", x.location());
  const Dim& n = v.shape()[at];
  Shape starts(std::vector<Dim>(static_cast<std::size_t>(v.rank()), Dim(0)));
  starts[at] = index.is_constant() && index.constant() < 0 ? index + n : index;
  Shape sizes = v.shape();
  sizes[at] = 1;
  const Value part =
      v.graph()
          .apply("slice", {v},
                 {{"starts", starts}, {"sizes", sizes}, {"steps", all_steps_one(v.rank())}},
                 x.location())
          .output(0);
  return squeeze(Arg(part, x.location()), at);
}

std::vector<Value> split(Arg x, const std::vector<Dim>& sizes, int axis) {
  const Value v = x.value("split");
  const int at = resolve_axis(axis, v, "split", x.location());
  Dim total = 0;
  for (const Dim& size : sizes) total += size;
  if (!v.graph().facts().equal(total, v.shape()[at])) {
    v.graph().fail(ShapeError(fmt::format("the sizes add up to {}, but axis {} has {}", total.str(),
                                          at, v.shape()[at].str())),
                   "split", {v}, x.location());
  }
  std::vector<Value> parts;
  Dim start = 0;
  for (const Dim& size : sizes) {
    Shape starts(std::vector<Dim>(static_cast<std::size_t>(v.rank()), Dim(0)));
    starts[at] = start;
    Shape part = v.shape();
    part[at] = size;
    parts.push_back(
        v.graph()
            .apply("slice", {v},
                   {{"starts", starts}, {"sizes", part}, {"steps", all_steps_one(v.rank())}},
                   x.location())
            .output(0));
    start += size;
  }
  return parts;
}

std::vector<Value> split_equal(Arg x, int pieces, int axis) {
  const Value v = x.value("split_equal");
  const int at = resolve_axis(axis, v, "split_equal", x.location());
  const auto size =
      pieces > 0 ? Dim::try_exact_div(v.shape()[at], Dim(pieces)) : std::optional<Dim>();
  if (!size) {
    v.graph().fail(ShapeError(fmt::format("axis {} of size {} cannot be split into {} equal pieces",
                                          at, v.shape()[at].str(), pieces)),
                   "split_equal", {v}, x.location());
  }
  return split(Arg(v, x.location()), std::vector<Dim>(static_cast<std::size_t>(pieces), *size), at);
}

// -- Concatenating, padding and reordering --------------------------------------------------------

Value concat(const std::vector<Value>& xs, int axis, SourceLocation loc) {
  if (xs.empty() || !xs.front().defined()) {
    throw ArgumentError(fmt::format("concat: at least one value is needed\n  {}", loc.str()));
  }
  const Value first = xs.front();
  const std::int64_t at = resolve_axis(axis, first, "concat", loc);
  return first.graph().apply("concat", xs, {{"axis", at}}, loc).output(0);
}

Value stack(const std::vector<Value>& xs, int axis, SourceLocation loc) {
  if (xs.empty() || !xs.front().defined()) {
    throw ArgumentError(fmt::format("stack: at least one value is needed\n  {}", loc.str()));
  }
  const Value first = xs.front();
  const int at = resolve_axis(axis, first.rank() + 1, first.graph(), xs, "stack", loc);
  const Graph::Frame frame(first.graph(), "stack", loc);
  std::vector<Value> widened;
  for (const Value& x : xs) {
    first.graph().check_owned(x, "stack", loc);
    if (x.rank() != first.rank()) {
      first.graph().fail(
          ShapeError(fmt::format("all values must have the same shape, but {} and {} differ",
                                 first.shape().str(), x.shape().str())),
          "stack", xs, loc);
    }
    widened.push_back(unsqueeze(x, at));
  }
  return concat(widened, at);
}

Value flip(Arg x, const Axes& axes) {
  const Value v = x.value("flip");
  return v.graph()
      .apply("flip", {v}, {{"axes", resolve_axes(axes, v, "flip", x.location())}}, x.location())
      .output(0);
}

}  // namespace weft
