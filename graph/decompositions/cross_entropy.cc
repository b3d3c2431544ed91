#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_cross_entropy_decompositions(DecompositionSet&) {}

}  // namespace weft
