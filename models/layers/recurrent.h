// Recurrent layers: Elman networks, gated recurrent units (Cho et al. 2014) and long short-term
// memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). Equations,
// weight layouts and parameter names match PyTorch's nn.RNN, nn.GRU and nn.LSTM, so that their
// weights can be loaded unchanged.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/functions/arg.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Types of recurrent layers.
enum class Recurrence { rnn_tanh, rnn_relu, gru, lstm };
/// Returns the number of gates, i.e. rows of the weights per hidden unit: 1 for the rnn types, 3
/// for gru (reset, update, new), 4 for lstm (input, forget, cell, output).
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
  /// Each layer also reads the sequence backwards; the outputs of both directions are concatenated.
  bool bidirectional = false;
  bool bias = true;
  /// i32 or i64 [batch]: number of valid steps of each row. Outputs after the valid steps are 0,
  /// and the final state is the state after the last valid step (as for PyTorch's packed
  /// sequences). If absent, all steps are valid.
  OptionalArg lengths = {};
  /// Initial state [layers * directions, batch, hidden]; zeros if absent. `c0` is for lstm only.
  OptionalArg h0 = {}, c0 = {};
  /// See ScanOptions::segment: saves memory at the cost of one more forward pass.
  std::int64_t segment = 0;
};

/// Outputs of recurrent layers.
struct RecurrentResult {
  /// [batch, time, directions * hidden]: the states of the last layer.
  Value output;
  /// [layers * directions, batch, hidden]: the final state of every layer.
  Value h;
  /// Like `h`, but for the cell states of an LSTM; undefined for other types.
  Value c;
};

/// Applies existing weights to x [batch, time, input], f32 or f64. `weights` has one entry per
/// layer and direction, forward before backward. Throws ShapeError if shapes do not match, and
/// ArgumentError if the number of weights is wrong or if c0 is passed for a type other than lstm.
RecurrentResult apply_recurrent(Recurrence kind, Arg x,
                                const std::vector<RecurrentWeights>& weights,
                                const RecurrentOptions& options = {},
                                SourceLocation loc = SourceLocation::current());

/// Declares the weights of layers over `input` features, for apply_recurrent(). Only the options
/// layers, bidirectional and bias are used. Parameters, in PyTorch's order and with its names:
/// "<scope>.weight_ih_l0" [gates * hidden, input], "<scope>.weight_hh_l0", "<scope>.bias_ih_l0",
/// "<scope>.bias_hh_l0", with the suffix "_reverse" for the backward direction. They are
/// initialised uniformly in +-1/sqrt(hidden). Throws ArgumentError if hidden is below 1.
std::vector<RecurrentWeights> make_recurrent(const Scope& scope, Recurrence kind, DType dtype,
                                             const Dim& input, std::int64_t hidden,
                                             const RecurrentOptions& options = {},
                                             SourceLocation loc = SourceLocation::current());

/// Declares the weights (make_recurrent()) and applies the layers.
RecurrentResult recurrent(const Scope& scope, Recurrence kind, Arg x, std::int64_t hidden,
                          const RecurrentOptions& options = {},
                          SourceLocation loc = SourceLocation::current());
/// Calls recurrent() with Recurrence::gru or Recurrence::lstm.
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
