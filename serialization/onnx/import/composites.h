// Recognition of composite functions that exporters write as several nodes.
#pragma once

#include "weft/graph/ir/value.h"

namespace weft::onnx {

/// If `last` is the result of a composite function that was built from elementary operations,
/// returns the value of the corresponding operation of Weft, which is faster in inference and in
/// training; otherwise returns `last`. The import calls this for every output of a node.
/// Recognised functions, with constants that agree to the precision of the dtype:
/// - layer_norm: (x - mean) / sqrt(mean((x - mean)^2) + eps), then a gain, then a bias;
/// - rms_norm: x / sqrt(mean(x^2) + eps), then a gain;
/// - gelu (both forms), silu;
/// - attention: softmax(scale q k^T + biases) v with masks that are added or selected by where().
///   The result for a query whose keys all have the bias -inf is 0 instead of NaN.
Value fused(Value last);

}  // namespace weft::onnx
