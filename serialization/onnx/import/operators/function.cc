// Elementwise functions and activations.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> function_operators() { return {}; }

}  // namespace weft::onnx
