// Fused normalisation and activation operators of com.microsoft.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> microsoft_norm_operators() { return {}; }

}  // namespace weft::onnx
