#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_attention_decompositions(DecompositionSet&) {}

}  // namespace weft
