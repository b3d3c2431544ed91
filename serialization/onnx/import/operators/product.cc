// Matrix products.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> product_operators() { return {}; }

}  // namespace weft::onnx
