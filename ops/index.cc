#include "weft/ops/builtin.h"

namespace weft {

void add_index_ops(OpSet&) {}

}  // namespace weft
