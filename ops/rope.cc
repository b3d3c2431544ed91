#include "weft/ops/builtin.h"

namespace weft {

void add_rope_ops(OpSet&) {}

}  // namespace weft
