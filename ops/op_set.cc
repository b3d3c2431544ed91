#include "weft/ops/builtin.h"

namespace weft {

std::shared_ptr<const OpSet> op_set(std::initializer_list<void (*)(OpSet&)> families) {
  auto set = std::make_shared<OpSet>();
  add_leaf_ops(*set);
  for (const auto add : families) {
    if (add != add_leaf_ops) add(*set);
  }
  return set;
}

}  // namespace weft
