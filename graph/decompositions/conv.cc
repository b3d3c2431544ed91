#include "weft/graph/decompositions/decomposition.h"

namespace weft {

void add_conv_decompositions(DecompositionSet&) {}

}  // namespace weft
