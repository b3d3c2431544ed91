#include "weft/ops/builtin.h"

#include "weft/ops/samples.h"

namespace weft {

std::shared_ptr<const OpSet> builtin_ops() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto set = std::make_shared<OpSet>();
    BuiltinFamilies::add_to(*set);
    if (add_builtin_samples != nullptr) add_builtin_samples(*set);  // in test programs only
    return set;
  }();
  return ops;
}

}  // namespace weft
