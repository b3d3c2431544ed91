#include "weft/autodiff/rule.h"

namespace weft {

void add_softmax_rules(RuleSet&) {}

}  // namespace weft
