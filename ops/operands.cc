#include "weft/ops/operands.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

void check_operands(const OpRecord& op, const std::vector<bool>& given) {
  const bool variadic = !op.inputs.empty() && op.inputs.back().arity == Arity::variadic;
  if (!variadic && given.size() > op.inputs.size()) {
    throw ArgumentError(fmt::format("accepts at most {} operands, but {} are given",
                                    op.inputs.size(), given.size()));
  }
  for (std::size_t i = 0; i < std::max(given.size(), op.inputs.size()); ++i) {
    if (i < given.size() && given[i]) continue;
    const InputSpec& spec = op.inputs[std::min(i, op.inputs.size() - 1)];
    // A variadic list may be empty but must not have gaps.
    const bool may_be_absent =
        spec.arity == Arity::optional || (spec.arity == Arity::variadic && i >= given.size());
    if (may_be_absent) continue;
    throw ArgumentError(fmt::format("operand '{}' is missing (an undefined Value)", spec.name));
  }
}

double operand_bytes(const KernelRequest& request) {
  double bytes = 0;
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const OperandSpec& o : *operands) {
      if (!o.present) continue;
      bytes += static_cast<double>(o.numel()) * static_cast<double>(dtype_size(o.dtype));
    }
  }
  return bytes;
}

}  // namespace weft
