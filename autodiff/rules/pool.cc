#include "weft/autodiff/rule.h"

namespace weft {

void add_pool_rules(RuleSet&) {}

}  // namespace weft
