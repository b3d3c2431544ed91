// Sequences and optional values, whose structure is known when the file is read.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> sequence_operators() { return {}; }

}  // namespace weft::onnx
