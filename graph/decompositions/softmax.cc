#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_softmax_decompositions(DecompositionSet&) {}

}  // namespace weft
