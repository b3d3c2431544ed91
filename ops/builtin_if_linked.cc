// In a file of its own, as builtin.cc is: here builtin_ops is weak.
#include "weft/ops/builtin.h"

namespace weft {

[[gnu::weak]] std::shared_ptr<const OpSet> builtin_ops();

std::shared_ptr<const OpSet> builtin_ops_if_linked() {
  return builtin_ops != nullptr ? builtin_ops() : nullptr;
}

}  // namespace weft
