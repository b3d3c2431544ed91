// Layers that mix the tokens of a sequence, with measurements of their cost and maximum path
// length. Reproduces table 1 of Vaswani et al. ("Attention is all you need", 2017).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/ir/scope.h"

namespace weft::zoo {

inline constexpr std::int64_t kKernel = 5;   // k, the kernel size of the convolution
inline constexpr std::int64_t kWindow = 16;  // r, the window size of windowed attention in tokens

/// A layer type for n tokens of width d, with its cost and path length according to the paper.
struct SequenceLayer {
  std::string name;   // such as "self-attention"
  std::string cost;   // such as "n^2 d"
  std::string path;   // "1", "n", "n/k", "n/r"
  double by_n, by_d;  // exponents of the cost
  double path_by_n;   // exponent of the path length
  /// Applies the layer to x [1, n, d]. The result has the same type as x. Weights are declared in
  /// `scope`.
  Value (*apply)(const Scope& scope, Value x);
  /// Applies one sequential step to `last`, the result of the previous step. A step is a whole
  /// layer or, for the recurrent layer, one time step, which also reads x.
  Value (*step)(const Scope& scope, Value last, Value x);
};

/// Returns the layer types: self-attention (only softmax(x x^T) x, because projections cost n d^2),
/// recurrent (tanh), causal convolution over kKernel tokens, and causal attention within a window
/// of kWindow tokens.
const std::vector<SequenceLayer>& sequence_layers();

/// Returns the FLOPs of the layer's plan for n tokens of width d.
double layer_flops(const SequenceLayer& layer, std::int64_t n, std::int64_t d);
/// Returns the CPU time of the layer on one thread in seconds, as the minimum over several runs.
double layer_seconds(const SequenceLayer& layer, std::int64_t n, std::int64_t d);

/// Returns the number of steps after which the last of n tokens depends on the first token, that
/// is, after which the gradient of the last token with respect to the first token is not zero.
std::int64_t path_length(const SequenceLayer& layer, std::int64_t n);

/// Returns the exponent a of the power law y ~ x^a, fitted by least squares to the logarithms. `x`
/// must have at least two different values.
double fitted_exponent(std::span<const double> x, std::span<const double> y);

}  // namespace weft::zoo
