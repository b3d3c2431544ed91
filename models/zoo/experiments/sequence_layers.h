// Layers that mix the tokens of a sequence, what they cost and how far they carry information: the
// table of Vaswani et al. ("Attention is all you need", 2017, table 1), measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/ir/scope.h"

namespace weft::zoo {

inline constexpr std::int64_t kKernel = 5;   // k: taps of the convolution
inline constexpr std::int64_t kWindow = 16;  // r: tokens that windowed attention sees

/// A kind of layer over n tokens of width d, and what the paper says of it.
struct SequenceLayer {
  std::string name;   // "self-attention"
  std::string cost;   // "n^2 d"
  std::string path;   // "1", "n", "n/k", "n/r"
  double by_n, by_d;  // exponents of the cost
  double path_by_n;   // exponent of the path
  /// x [1, n, d] -> the same type. Declares its weights below the scope.
  Value (*apply)(const Scope& scope, Value x);
  /// What information passes in one step, one after the other: a whole layer, fed with the last
  /// one's result; of a recurrent layer one step of time, which reads x and the last states.
  Value (*step)(const Scope& scope, Value last, Value x);
};

/// Self-attention (softmax(x x^T) x: the projections around it cost n d^2), recurrent (tanh),
/// convolution (kKernel taps, those before a token), attention in a window of kWindow tokens.
const std::vector<SequenceLayer>& sequence_layers();

/// Of the plan for n tokens of width d.
double layer_flops(const SequenceLayer& layer, std::int64_t n, std::int64_t d);
/// CPU time on one thread, of the fastest of several runs.
double layer_seconds(const SequenceLayer& layer, std::int64_t n, std::int64_t d);

/// How many steps it takes until the last of n tokens depends on the first: until the gradient of
/// one with respect to the other is not 0.
std::int64_t path_length(const SequenceLayer& layer, std::int64_t n);

/// The a with y ~ x^a that fits best: least squares of logarithms. At least two different x.
double fitted_exponent(std::span<const double> x, std::span<const double> y);

}  // namespace weft::zoo
