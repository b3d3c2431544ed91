#include "weft/ops/builtin.h"

namespace weft {

void add_attention_ops(OpSet&) {}

}  // namespace weft
