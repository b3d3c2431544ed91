// Convolutions.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> convolution_operators() { return {}; }

}  // namespace weft::onnx
