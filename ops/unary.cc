#include "weft/ops/builtin.h"

namespace weft {

void add_unary_ops(OpSet&) {}

}  // namespace weft
