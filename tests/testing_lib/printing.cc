#include "weft/testing/printing.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/graph/ir/graph.h"

namespace weft {

std::string testing::to_text(const Tensor& tensor, std::int64_t elements) {
  if (!tensor.defined()) return "undefined tensor";
  std::string text = fmt::format("{}{} {{", dtype_name(tensor.dtype()), to_string(tensor.sizes()));
  const std::int64_t shown = std::min(tensor.numel(), elements);
  for (std::int64_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", tensor.at(i));
  }
  return text + (shown < tensor.numel() ? ", ...}" : "}");
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << testing::to_text(tensor);
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

std::ostream& operator<<(std::ostream& out, const Value& value) {
  if (!value.defined()) return out << "undefined value";
  return out << value.type().str() << " of " << value.node().op().name << ", "
             << value.graph().where(value.node());
}

}  // namespace weft
