// Windows, Fourier transforms and filter banks.
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {

std::span<const Operator> signal_operators() { return {}; }

}  // namespace weft::onnx
