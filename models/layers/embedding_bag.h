// Bags of ids with a table of their own.
#pragma once

#include "weft/graph/functions/embedding_bag.h"
#include "weft/models/layers/embedding.h"

namespace WEFT_API weft {

/// Declares the table "<scope>.weight" [vocab, width] and reduces bags of its rows -> [bags, width]
/// (embedding_bag() of functions/embedding_bag.h). Throws ArgumentError where vocab or width is not
/// given, or a padding id is: bags have lengths.
Value embedding_bag(const Scope& scope, Value ids, const EmbeddingOptions& table,
                    const EmbeddingBagOptions& bags = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
