#include "weft/models/layers/embedding_bag.h"

#include "weft/core/error.h"

namespace weft {

Value embedding_bag(const Scope& scope, Value ids, const EmbeddingOptions& table,
                    const EmbeddingBagOptions& bags, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "embedding_bag", loc, scope.path());
  if (table.padding_id) {
    scope.graph().fail(
        ArgumentError(
            "embedding bags have no padding id: set lengths or offsets to exclude padding"),
        "embedding_bag", {ids}, loc);
  }
  return embedding_bag(Arg(ids, loc), make_embedding(scope, table, loc).weight, bags);
}

}  // namespace weft
