// Losses.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> loss_operators() { return {}; }

}  // namespace weft::onnx
