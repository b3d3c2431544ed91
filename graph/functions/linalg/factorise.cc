#include "weft/graph/functions/linalg/factorise.h"

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// Returns output 0 of the node, with a check at run time that output 1 reports no failed pivot.
Value checked(Node& node, const std::string& problem, SourceLocation loc) {
  return node.graph()
      .apply("require_pivots", {node.output(0), node.output(1)}, {{"problem", problem}}, loc)
      .output(0);
}

// Returns the batch axes: all but the last two.
Shape batch_shape(Value x) {
  const auto& dims = x.shape().dims();
  return Shape(std::vector<Dim>(dims.begin(), dims.end() - 2));
}

// Returns x broadcast to the batch axes `batch`.
Value with_batch_shape(Value x, Shape batch) {
  for (int axis = x.rank() - 2; axis < x.rank(); ++axis) batch.push_back(x.shape()[axis]);
  return x.shape() == batch ? x : broadcast_to(x, batch);
}

// Broadcasts the batch axes of a and b against each other. Operands with fewer than 2 axes are
// returned unchanged; the op rejects them.
void broadcast_batches(Value& a, Value& b, std::string_view function, SourceLocation loc) {
  if (a.rank() < 2 || b.rank() < 2) return;
  Graph& graph = a.graph();
  try {
    const Attributes none;
    const Shape batch =
        InferContext(function, {}, none, graph.facts()).broadcast(batch_shape(a), batch_shape(b));
    a = with_batch_shape(a, batch);
    b = with_batch_shape(b, batch);
  } catch (const Error& error) {
    graph.fail(error, function, {a, b}, loc);
  }
}

}  // namespace

Value cholesky(Arg x) {
  const Value v = x.value("cholesky");
  const Graph::Frame frame(v.graph(), "cholesky", x.location());
  return checked(v.graph().apply("cholesky", {v}, {}, x.location()), "not positive definite",
                 x.location());
}

Value triangular_solve(Arg t, Arg b, const TriangularSolveOptions& options) {
  Value matrix = t.value("triangular_solve"), right = b.value("triangular_solve");
  Graph& graph = matrix.graph();
  const SourceLocation loc = t.location().known() ? t.location() : b.location();
  graph.check_owned(right, "operand b of triangular_solve", loc);
  const Graph::Frame frame(graph, "triangular_solve", loc);
  broadcast_batches(matrix, right, "triangular_solve", loc);
  return checked(graph.apply("triangular_solve", {matrix, right},
                             {{"upper", options.upper},
                              {"transpose", options.transpose},
                              {"unit_diagonal", options.unit_diagonal}},
                             loc),
                 "singular", loc);
}

Value cholesky_solve(Arg factor, Arg b) {
  const Value l = factor.value("cholesky_solve");
  const Graph::Frame frame(l.graph(), "cholesky_solve", factor.location());
  const Value half = triangular_solve(l, Arg(b.value("cholesky_solve"), factor.location()));
  return triangular_solve(l, half, {.transpose = true});
}

QrFactors qr(Arg x) {
  const Value v = x.value("qr");
  Graph& graph = v.graph();
  const Graph::Frame frame(graph, "qr", x.location());
  const auto factors = [&](Value a) {
    Node& node = graph.apply("qr", {a}, {}, x.location());
    return QrFactors{node.output(0), node.output(1)};
  };
  if (v.rank() < 2) return factors(v);
  const Dim &rows = v.shape()[v.rank() - 2], &columns = v.shape()[v.rank() - 1];
  if (!rows.is_constant() || !columns.is_constant() || rows.constant() >= columns.constant()) {
    return factors(v);
  }
  // q is determined by the first columns; the rest of r is q^T times the other columns.
  QrFactors f = factors(slice(v, -1, {.end = rows}));
  const Value others = slice(v, -1, {.begin = rows});
  f.r = concat({f.r, matmul(f.q, others, {.transpose_a = true, .precision = Precision::highest})},
               -1);
  return f;
}

SvdFactors svd(Arg x) {
  const Value v = x.value("svd");
  const Graph::Frame frame(v.graph(), "svd", x.location());
  Node& node = v.graph().apply("svd", {v}, {}, x.location());
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace weft
