// This function is in a separate file from builtin.cc because it declares builtin_ops as a weak
// symbol.
#include "weft/ops/builtin.h"

namespace weft {

[[gnu::weak]] std::shared_ptr<const OpSet> builtin_ops();

std::shared_ptr<const OpSet> builtin_ops_if_linked() {
  return builtin_ops != nullptr ? builtin_ops() : nullptr;
}

}  // namespace weft
