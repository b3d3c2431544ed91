// Gather and scatter.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> index_operators() { return {}; }

}  // namespace weft::onnx
