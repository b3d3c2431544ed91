#include "weft/graph/functions/linalg/grouped_matmul.h"

#include "weft/graph/functions/apply_op.h"

namespace weft {
namespace {

std::string precision_text(const std::optional<Precision>& precision) {
  return std::string(precision ? precision_name(*precision) : "");
}

}  // namespace

Value grouped_matmul(Arg x, Arg w, Arg sizes, const GroupedMatmulOptions& options) {
  return apply_op(
      "grouped_matmul",
      {x.value("grouped_matmul"), w.value("grouped_matmul"), sizes.value("grouped_matmul")},
      {{"transpose_w", options.transpose_w}, {"precision", precision_text(options.precision)}},
      x.location());
}

Value grouped_outer(Arg a, Arg b, Arg sizes, std::optional<Precision> precision) {
  return apply_op(
      "grouped_outer",
      {a.value("grouped_outer"), b.value("grouped_outer"), sizes.value("grouped_outer")},
      {{"precision", precision_text(precision)}}, a.location());
}

}  // namespace weft
