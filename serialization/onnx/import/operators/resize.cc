// Interpolation.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> resize_operators() { return {}; }

}  // namespace weft::onnx
