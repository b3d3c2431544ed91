// What only training leaves out: dropout and its relatives, and the residual connections that they
// stand in.
#pragma once

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

// Each is x itself in a scope in evaluation mode, and for rate 0; draws come from the graph's key
// "dropout". x is f32 or f64, rate in [0, 1). Throws GraphError in a scope without a mode,
// ArgumentError for another rate.

/// Elements are 0 with probability `rate`, the others are divided by 1 - rate (Srivastava et al.
/// 2014).
Value dropout(const Scope& scope, Value x, double rate,
              SourceLocation loc = SourceLocation::current());
/// The same for models that are told by a flag whether they train.
Value dropout_if(bool training, Value x, double rate,
                 SourceLocation loc = SourceLocation::current());
/// The same of whole channels of x [N, C, ...] (Tompson et al. 2015: "spatial dropout"; PyTorch's
/// Dropout2d).
Value channel_dropout(const Scope& scope, Value x, double rate,
                      SourceLocation loc = SourceLocation::current());
/// Dropout that keeps the mean and variance that SELU gives (Klambauer et al. 2017): elements are
/// its lowest value with probability `rate`; the result is scaled and shifted.
Value alpha_dropout(const Scope& scope, Value x, double rate,
                    SourceLocation loc = SourceLocation::current());
/// Stochastic depth: x [N, ...] is 0 for a whole sample with probability `rate`, else it is divided
/// by 1 - rate (Huang et al. 2016, as in Touvron et al. 2021). For the branch of a residual block.
Value drop_path(const Scope& scope, Value x, double rate,
                SourceLocation loc = SourceLocation::current());

struct ResidualOptions {
  double drop_path = 0;  // rate
};
/// shortcut + drop_path(branch) (He et al. 2016). Throws ShapeError unless both have one shape:
/// broadcasting is a mistake here. Where a branch changes the shape, the shortcut needs a layer of
/// its own: residual(net, conv2d(net / "shortcut", x, 64, {.kernel = {1, 1}}), branch).
Value residual(const Scope& scope, Value shortcut, Value branch,
               const ResidualOptions& options = {}, SourceLocation loc = SourceLocation::current());

}  // namespace weft
