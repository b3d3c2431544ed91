// Pooling.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> pooling_operators() { return {}; }

}  // namespace weft::onnx
