#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_elementwise_decompositions(DecompositionSet&) {}

}  // namespace weft
