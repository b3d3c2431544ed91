// The convolution of Conv, for operators that convolve other operands.
#pragma once

#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// Reads the attributes of Conv (auto_pad, dilations, group, kernel_shape, pads, strides) and
/// returns the convolution of x [N, C, spatial axes...] and weight [O, C / group, kernel...], both
/// f32 or f64, without a bias. There are 1 to 3 spatial axes.
Value convolved(NodeImport& n, Value x, Value weight);

}  // namespace weft::onnx
