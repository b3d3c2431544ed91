// Dropout layers, which act only in training, and residual connections with stochastic depth.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// All layers return x itself in a scope in evaluation mode, or if the rate is 0. Random numbers
// come from the graph's key "dropout". x is f32 or f64, and rate is in [0, 1). The layers throw
// GraphError if the rate is not 0 and the scope has no mode, and ArgumentError if the rate is
// outside [0, 1).

/// Sets elements to 0 with probability `rate` and divides the others by 1 - rate (Srivastava et al.
/// 2014).
Value dropout(const Scope& scope, Value x, double rate,
              SourceLocation loc = SourceLocation::current());
/// Dropout of whole channels of x [N, C, ...] ("spatial dropout", Tompson et al. 2015; PyTorch's
/// Dropout2d).
Value channel_dropout(const Scope& scope, Value x, double rate,
                      SourceLocation loc = SourceLocation::current());
/// Dropout that preserves the mean and variance of SELU's outputs (Klambauer et al. 2017): sets
/// elements to SELU's lowest value with probability `rate`, then scales and shifts the result.
Value alpha_dropout(const Scope& scope, Value x, double rate,
                    SourceLocation loc = SourceLocation::current());
/// Stochastic depth (Huang et al. 2016, as in Touvron et al. 2021): sets whole samples of x [N,
/// ...] to 0 with probability `rate` and divides the others by 1 - rate. Intended for the branch of
/// a residual block.
Value drop_path(const Scope& scope, Value x, double rate,
                SourceLocation loc = SourceLocation::current());
/// Returns true if a layer with this rate drops elements in `scope`: if the rate is not 0 and the
/// scope is in training mode. For layers that receive a rate and a key, such as attention. Throws
/// GraphError if the rate is not 0 and the scope has no mode.
bool drops_out(const Scope& scope, double rate, SourceLocation loc = SourceLocation::current());

struct ResidualOptions {
  double drop_path = 0;  // rate
};
/// Residual connection: shortcut + drop_path(branch) (He et al. 2016). Throws ShapeError unless
/// both have the same shape, because broadcasting would be a mistake here. If the branch changes
/// the shape, the shortcut needs a layer as well:
///   residual(net, conv2d(net / "shortcut", x, 64, {.kernel = {1, 1}}), branch)
Value residual(const Scope& scope, Value shortcut, Value branch,
               const ResidualOptions& options = {}, SourceLocation loc = SourceLocation::current());

}  // namespace weft
