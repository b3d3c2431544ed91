// Normalisation.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> norm_operators() { return {}; }

}  // namespace weft::onnx
