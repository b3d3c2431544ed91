#include "weft/ops/builtin.h"

namespace weft {

void add_pool_ops(OpSet&) {}

}  // namespace weft
