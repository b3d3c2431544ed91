#include "weft/models/layers/embedding.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/features.h"

namespace weft {

Value Embedding::operator()(Value ids, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "embedding", loc, scope.path());
  return embedding(ids, weight, padding_id);
}

Embedding make_embedding(const Scope& scope, const EmbeddingOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "embedding", loc, scope.path());
  if (options.vocab < 1 || options.width < 1) {
    scope.graph().fail(
        ArgumentError(fmt::format("vocab and width must be at least 1, not {} and {}: set "
                                  "{{.vocab = ..., .width = ...}}",
                                  options.vocab, options.width)),
        "embedding", {}, loc);
  }
  return {scope,
          scope.variable("weight", options.dtype, {options.vocab, options.width},
                         {.initializer = options.initializer}),
          options.padding_id};
}

Value embedding(const Scope& scope, Value ids, const EmbeddingOptions& options,
                SourceLocation loc) {
  return make_embedding(scope, options, loc)(ids, loc);
}

Value learned_positions(const Scope& scope, Value h, const PositionOptions& options,
                        SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, h, "learned_positions", loc);
  Graph::Frame frame(scope.graph(), "learned_positions", loc, scope.path());
  if (h.rank() < 2)
    scope.graph().fail(ShapeError("h must be [..., seq, width]"), "learned_positions", {h}, loc);
  const Dim& length = h.size(-2);
  if (options.context == 0 && !length.is_constant()) {
    scope.graph().fail(
        ArgumentError(fmt::format("the sequence has the symbolic size {}: set the number of "
                                  "positions, {{.context = ...}}",
                                  length.str())),
        "learned_positions", {h}, loc);
  }
  const std::int64_t context = options.context == 0 ? length.constant() : options.context;
  const Variable table =
      scope.variable("weight", h.dtype(), {context, width}, {.initializer = options.initializer});
  return embedding(iota(scope.graph(), {length}, 0, DType::i64), table);
}

}  // namespace weft
