// Branches and loops.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> control_operators() { return {}; }

}  // namespace weft::onnx
