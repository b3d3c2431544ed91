// Embedding bags: sums, means or maxima of rows of an embedding table.
#pragma once

#include "weft/graph/functions/composed/embedding_bag.h"
#include "weft/models/layers/embedding.h"

namespace WEFT_API weft {

/// Declares the table "<scope>.weight" [vocab, width] and reduces bags of its rows to [bags, width]
/// with embedding_bag() of functions/embedding_bag.h. Throws ArgumentError if vocab or width is
/// missing, or if a padding id is set: bags exclude padding by their lengths.
Value embedding_bag(const Scope& scope, Value ids, const EmbeddingOptions& table,
                    const EmbeddingBagOptions& bags = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
