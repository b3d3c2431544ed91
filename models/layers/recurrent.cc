#include "weft/models/layers/recurrent.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Index = std::size_t;

// Returns x W^T + b, or x W^T without a bias.
Value affine(const Value& x, const Value& weight, const Value& bias) {
  const Value y = matmul(x, weight, {.transpose_b = true});
  return bias.defined() ? y + bias : y;
}

// One time step: maps an input element and the state to the new state.
struct Cell {
  Recurrence kind;
  const RecurrentWeights& weights;

  std::vector<Value> operator()(const Value& x, const std::vector<Value>& state) const {
    const Value& h = state[0];
    const Value from_x = affine(x, weights.weight_ih, weights.bias_ih);
    const Value from_h = affine(h, weights.weight_hh, weights.bias_hh);
    switch (kind) {
      case Recurrence::rnn_tanh: return {tanh(from_x + from_h)};
      case Recurrence::rnn_relu: return {relu(from_x + from_h)};
      case Recurrence::gru: {
        const auto a = split_equal(from_x, 3, -1), b = split_equal(from_h, 3, -1);
        const Value reset = sigmoid(a[0] + b[0]), update = sigmoid(a[1] + b[1]);
        const Value fresh = tanh(a[2] + reset * b[2]);
        return {fresh + update * (h - fresh)};
      }
      case Recurrence::lstm: break;
    }
    const auto gates = split_equal(from_x + from_h, 4, -1);
    const Value c = sigmoid(gates[1]) * state[1] + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(c), c};
  }
};

void check_weights(Recurrence kind, const RecurrentWeights& w, const Dim& input, Index number) {
  const auto fail = [&](const char* name, const Value& v, const Shape& wanted) {
    throw ShapeError(fmt::format("recurrent: {} of entry {} must be {}, but is {}", name, number,
                                 wanted.str(), v.defined() ? v.type().str() : "absent"));
  };
  if (!w.weight_hh.defined() || w.weight_hh.rank() != 2) {
    throw ShapeError(fmt::format("recurrent: weight_hh of entry {} must have two axes", number));
  }
  const Dim hidden = w.weight_hh.shape()[1], rows = hidden * gate_count(kind);
  const auto check = [&](const char* name, const Value& v, const Shape& wanted) {
    if (!v.defined() || !(v.shape() == wanted)) fail(name, v, wanted);
  };
  check("weight_ih", w.weight_ih, Shape{rows, input});
  check("weight_hh", w.weight_hh, Shape{rows, hidden});
  if (!w.bias_ih.defined() && !w.bias_hh.defined()) return;
  check("bias_ih", w.bias_ih, Shape{rows});
  check("bias_hh", w.bias_hh, Shape{rows});
}

}  // namespace

int gate_count(Recurrence kind) {
  return kind == Recurrence::lstm ? 4 : kind == Recurrence::gru ? 3 : 1;
}

RecurrentResult apply_recurrent(Recurrence kind, Arg arg,
                                const std::vector<RecurrentWeights>& weights,
                                const RecurrentOptions& options, SourceLocation loc) {
  const Value x = arg.value("recurrent");
  Graph& graph = x.graph();
  const Graph::Frame frame(graph, "recurrent", loc);
  const Index directions = options.bidirectional ? 2 : 1;
  if (x.rank() != 3) {
    throw ShapeError(fmt::format("recurrent: x must be [batch, time, input], but is {}\n  {}",
                                 x.type().str(), graph.describe_source(loc)));
  }
  if (options.layers < 1 || weights.size() != directions * static_cast<Index>(options.layers)) {
    throw ArgumentError(
        fmt::format("recurrent: {} layers in {} direction{} need one entry of weights each, but "
                    "there are {}\n  {}",
                    options.layers, directions, directions > 1 ? "s" : "", weights.size(),
                    graph.describe_source(loc)));
  }
  const bool cells = kind == Recurrence::lstm;
  if (options.c0.present() && !cells) {
    throw ArgumentError(
        fmt::format("recurrent: c0 is only for lstm; other layer types have no cell state\n  {}",
                    graph.describe_source(loc)));
  }
  std::vector<Value> last_h, last_c;
  Value layer = permute(x, {1, 0, 2});  // [time, batch, input]
  for (Index number = 0; number < weights.size(); number += directions) {
    std::vector<Value> sides;
    for (Index side = 0; side < directions; ++side) {
      const RecurrentWeights& w = weights[number + side];
      const auto entry = static_cast<std::int64_t>(number + side);
      check_weights(kind, w, layer.shape()[2], number + side);
      const Shape state = {x.shape()[0], w.weight_hh.shape()[1]};
      const auto start = [&](const OptionalArg& given) {
        return given.present() ? select(given.value(), 0, Dim(entry))
                               : zeros(graph, x.dtype(), state, loc);
      };
      std::vector<Value> carries = {start(options.h0)};
      if (cells) carries.push_back(start(options.c0));
      const Cell cell{kind, w};
      const ScanResult result = scan(
          graph, carries, {layer}, {},
          [&](Graph&, const ScanElements& in) {
            std::vector<Value> next = cell(in.elements[0], in.carries);
            const Value h = next[0];
            return ScanStep{std::move(next), {h}};
          },
          {.reverse = side == 1,
           .lengths = options.lengths,
           .segment = options.segment,
           .name = cells                     ? "lstm"
                   : kind == Recurrence::gru ? "gru"
                                             : "rnn"},
          loc);
      sides.push_back(result.outputs[0]);
      last_h.push_back(result.carries[0]);
      if (cells) last_c.push_back(result.carries[1]);
    }
    layer = sides.size() == 1 ? sides[0] : concat(sides, 2);
  }
  RecurrentResult result;
  result.output = permute(layer, {1, 0, 2});
  result.h = stack(last_h);
  if (cells) result.c = stack(last_c);
  return result;
}

std::vector<RecurrentWeights> make_recurrent(const Scope& scope, Recurrence kind, DType dtype,
                                             const Dim& input, std::int64_t hidden,
                                             const RecurrentOptions& options, SourceLocation loc) {
  if (hidden < 1) {
    throw ArgumentError(fmt::format("recurrent: hidden must be at least 1, but is {}\n  {}", hidden,
                                    scope.graph().describe_source(loc)));
  }
  const std::int64_t rows = gate_count(kind) * hidden;
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const VariableOptions start{.initializer = Initializer::uniform(-bound, bound)};
  std::vector<RecurrentWeights> weights;
  Dim read = input;
  for (int layer = 0; layer < options.layers; ++layer) {
    for (const char* side : {"", "_reverse"}) {
      if (*side != 0 && !options.bidirectional) continue;
      const auto declare = [&](const char* name, Shape shape) {
        return scope
            .variable(fmt::format("{}_l{}{}", name, layer, side),
                      ValueType{dtype, std::move(shape)}, start, loc)
            .value();
      };
      RecurrentWeights w;
      w.weight_ih = declare("weight_ih", Shape{Dim(rows), read});
      w.weight_hh = declare("weight_hh", Shape{Dim(rows), Dim(hidden)});
      if (options.bias) {
        w.bias_ih = declare("bias_ih", Shape{Dim(rows)});
        w.bias_hh = declare("bias_hh", Shape{Dim(rows)});
      }
      weights.push_back(w);
    }
    read = Dim(hidden * (options.bidirectional ? 2 : 1));
  }
  return weights;
}

RecurrentResult recurrent(const Scope& scope, Recurrence kind, Arg arg, std::int64_t hidden,
                          const RecurrentOptions& options, SourceLocation loc) {
  const Value x = arg.value("recurrent");
  const auto weights =
      make_recurrent(scope, kind, x.dtype(), x.shape()[x.rank() - 1], hidden, options, loc);
  return apply_recurrent(kind, x, weights, options, loc);
}

}  // namespace weft
