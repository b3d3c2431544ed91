// Printing of tensors, shapes, dtypes and values, for Boost.Test and other frameworks.
#pragma once

#include <ostream>
#include <string>

#include "weft/core/tensor.h"
#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

namespace testing {
/// Returns the dtype, sizes and elements of a tensor, for example "f32[2, 3] {1, 2, 3, 4, 5, 6}".
/// At most `elements` elements are printed, followed by "..." if there are more.
std::string to_text(const Tensor& tensor, std::int64_t elements = 16);
}  // namespace testing

// These operators are in the namespace of their arguments, so that test frameworks find them by
// argument-dependent lookup.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::ostream& operator<<(std::ostream& out, DType dtype);
/// Prints the type of the value, and the op and source line of the node that computes the value.
std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace weft
