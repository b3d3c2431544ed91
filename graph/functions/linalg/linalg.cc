#include "weft/graph/functions/linalg/linalg.h"

#include <fmt/format.h>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value apply_matmul(Value a, Value b, const MatmulOptions& o, SourceLocation loc) {
  const std::string precision(o.precision ? precision_name(*o.precision) : "");
  return a.graph()
      .apply("matmul", {a, b},
             {{"transpose_a", o.transpose_a},
              {"transpose_b", o.transpose_b},
              {"precision", precision}},
             loc)
      .output(0);
}

/// Throws ShapeError unless both operands have `rank` axes.
void require_rank(const ArgPair& p, int rank, std::string_view function) {
  for (const Value v : {p.a, p.b}) {
    if (v.rank() == rank) continue;
    p.a.graph().fail(
        ShapeError(fmt::format("operands must have {} axis, but one is {}", rank, v.type().str())),
        function, {p.a, p.b}, p.loc);
  }
}

/// Returns the shape without axis `axis`.
Shape without_axis(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) result.push_back(shape[i]);
  }
  return result;
}

ArgPair resolve_tensors(const Arg& a, const Arg& b, std::string_view function) {
  const Value left = a.value(function), right = b.value(function);
  left.graph().check_owned(right, fmt::format("operand b of {}", function), a.location());
  return {left, right, a.location().known() ? a.location() : b.location()};
}

}  // namespace

Value matmul(Arg a, Arg b, const MatmulOptions& options) {
  const ArgPair p = resolve_tensors(a, b, "matmul");
  if (p.a.rank() >= 2 && p.b.rank() >= 2) {
    return apply_matmul(p.a, p.b, options, p.loc);
  }
  Graph& graph = p.a.graph();
  const bool row = p.a.rank() == 1, column = p.b.rank() == 1;
  if (p.a.rank() == 0 || p.b.rank() == 0) {
    graph.fail(ShapeError("operands must have at least 1 axis: multiply by a scalar with *"),
               "matmul", {p.a, p.b}, p.loc);
  }
  const int summed_a = row ? 0 : p.a.rank() - (options.transpose_a ? 2 : 1);
  const int summed_b = column ? 0 : p.b.rank() - (options.transpose_b ? 1 : 2);
  const Dim &ka = p.a.shape()[summed_a], &kb = p.b.shape()[summed_b];
  if (!graph.facts().equal(ka, kb)) {
    graph.fail(
        ShapeError(fmt::format("the summed axes of a (axis {}) and b (axis {}): {} and {} differ",
                               summed_a, summed_b, ka.str(), kb.str())),
        "matmul", {p.a, p.b}, p.loc);
  }
  const Graph::Frame frame(graph, "matmul", p.loc);
  const Value left = row ? unsqueeze(p.a, 0) : p.a;
  const Value right = column ? unsqueeze(p.b, 1) : p.b;
  Value out = apply_matmul(left, right,
                           {.transpose_a = !row && options.transpose_a,
                            .transpose_b = !column && options.transpose_b,
                            .precision = options.precision},
                           p.loc);
  if (column) out = reshape(out, without_axis(out.shape(), out.rank() - 1));
  if (row) out = reshape(out, without_axis(out.shape(), out.rank() - (column ? 1 : 2)));
  return out;
}

Value dot(Arg a, Arg b) {
  const ArgPair p = resolve_tensors(a, b, "dot");
  require_rank(p, 1, "dot");
  const Graph::Frame frame(p.a.graph(), "dot", p.loc);
  return matmul(Arg(p.a, p.loc), Arg(p.b, p.loc));
}

Value outer(Arg a, Arg b) {
  const ArgPair p = resolve_tensors(a, b, "outer");
  require_rank(p, 1, "outer");
  const Graph::Frame frame(p.a.graph(), "outer", p.loc);
  return mul(unsqueeze(p.a, 1), unsqueeze(p.b, 0));
}

Value linear(Arg x, Arg weight, OptionalArg bias, LinearLayout layout) {
  const ArgPair p = resolve_tensors(x, weight, "linear");
  Graph& graph = p.a.graph();
  if (p.b.rank() != 2) {
    graph.fail(ShapeError(fmt::format("weight must have 2 axes, but is {} with {}",
                                      p.b.type().str(), p.b.rank())),
               "linear", {p.a, p.b}, p.loc);
  }
  const Graph::Frame frame(graph, "linear", p.loc);
  const Value y = matmul(p.a, p.b, {.transpose_b = layout == LinearLayout::out_in});
  return bias.present() ? add(y, bias.value()) : y;
}

}  // namespace weft
