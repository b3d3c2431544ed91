// Attention and rotary positions of opset 23.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> attention_operators() { return {}; }

}  // namespace weft::onnx
