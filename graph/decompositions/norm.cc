#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_norm_decompositions(DecompositionSet&) {}

}  // namespace weft
