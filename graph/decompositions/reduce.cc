#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_reduce_decompositions(DecompositionSet&) {}

}  // namespace weft
