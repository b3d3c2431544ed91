// Recurrent layers: Elman networks, gated recurrent units (Cho et al. 2014) and long short-term
// memory (Hochreiter and Schmidhuber 1997; with the forget gate of Gers et al. 2000), with the
// equations, the layouts and the names of weights of PyTorch's nn.RNN, nn.GRU and nn.LSTM, so that
// their weights load as they are.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// The kinds of layers.
enum class Recurrence { rnn_tanh, rnn_relu, gru, lstm };
/// Rows of weights per unit: 1, 3 for gru (reset, update, new), 4 for lstm (input, forget, cell,
/// output).
int gate_count(Recurrence kind);

/// The weights of one layer in one direction.
struct RecurrentWeights {
  Value weight_ih;  // [gates * hidden, input]
  Value weight_hh;  // [gates * hidden, hidden]
  Value bias_ih;    // [gates * hidden], undefined without biases
  Value bias_hh;
};

struct RecurrentOptions {
  int layers = 1;
  /// Each layer also reads backwards, and gives both results side by side.
  bool bidirectional = false;
  bool bias = true;
  /// i32 or i64 [batch]: how many steps of each row count; its outputs behind them are 0, and its
  /// state is that of its last step (as PyTorch's packed sequences). Absent: all.
  OptionalArg lengths = {};
  /// Initial state [layers * directions, batch, hidden]; absent: zeros. `c0` is the LSTM's alone.
  OptionalArg h0 = {}, c0 = {};
  /// As ScanOptions::segment: less memory for one more forward pass.
  std::int64_t segment = 0;
};

/// What layers give.
struct RecurrentResult {
  Value output;  // [batch, time, directions * hidden]: the last layer's states
  Value h;       // [layers * directions, batch, hidden]: the last state of every layer
  Value c;       // the same for the LSTM's cells, else undefined
};

/// Applies given weights to x [batch, time, input], f32 or f64: one entry per layer and direction,
/// forward before backward. Throws ShapeError where shapes do not fit, ArgumentError for another
/// number of weights, or for c0 where there are no cells.
RecurrentResult apply_recurrent(Recurrence kind, Arg x,
                                const std::vector<RecurrentWeights>& weights,
                                const RecurrentOptions& options = {},
                                SourceLocation loc = SourceLocation::current());

/// Declares the weights of layers over `input` features, for apply_recurrent; of `options` layers,
/// bidirectional and bias count. Parameters, in PyTorch's order and names: "<scope>.weight_ih_l0"
/// [gates * hidden, input], "<scope>.weight_hh_l0", "<scope>.bias_ih_l0", "<scope>.bias_hh_l0",
/// with "_reverse" behind the names of the other direction; they start uniform in
/// +-1/sqrt(hidden). Throws ArgumentError for hidden below 1.
std::vector<RecurrentWeights> make_recurrent(const Scope& scope, Recurrence kind, DType dtype,
                                             const Dim& input, std::int64_t hidden,
                                             const RecurrentOptions& options = {},
                                             SourceLocation loc = SourceLocation::current());

/// Declares (make_recurrent) and applies the layers.
RecurrentResult recurrent(const Scope& scope, Recurrence kind, Arg x, std::int64_t hidden,
                          const RecurrentOptions& options = {},
                          SourceLocation loc = SourceLocation::current());
/// recurrent() of that kind.
inline RecurrentResult gru(const Scope& scope, Arg x, std::int64_t hidden,
                           const RecurrentOptions& options = {},
                           SourceLocation loc = SourceLocation::current()) {
  return recurrent(scope, Recurrence::gru, x, hidden, options, loc);
}
inline RecurrentResult lstm(const Scope& scope, Arg x, std::int64_t hidden,
                            const RecurrentOptions& options = {},
                            SourceLocation loc = SourceLocation::current()) {
  return recurrent(scope, Recurrence::lstm, x, hidden, options, loc);
}

}  // namespace weft
