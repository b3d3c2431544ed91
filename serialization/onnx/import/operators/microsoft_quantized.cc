// Quantised operators of com.microsoft.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> microsoft_quantized_operators() { return {}; }

}  // namespace weft::onnx
