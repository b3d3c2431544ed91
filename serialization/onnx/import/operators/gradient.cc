// Gradient of ai.onnx.preview.training.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> gradient_operators() { return {}; }

}  // namespace weft::onnx
