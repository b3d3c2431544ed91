// What tests print: tensors, shapes, types and values, for Boost.Test and other frameworks.
#pragma once

#include <ostream>
#include <string>

#include "weft/core/tensor.h"
#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

namespace testing {
/// "f32[2, 3] {1, 2, 3, 4, 5, 6}"; of more than `elements` the first ones, and "..." behind them.
std::string to_text(const Tensor& tensor, std::int64_t elements = 16);
}  // namespace testing

// In the namespace of what they print, where frameworks look for them.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, DType dtype);
/// Its type, and where it was made.
std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace weft
