// Recurrent networks.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> recurrent_operators() { return {}; }

}  // namespace weft::onnx
