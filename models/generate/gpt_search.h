// Beam and greedy search with a GPT, over caches of keys and values.
#pragma once

#include <memory>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/families/gpt.h"
#include "weft/models/generate/search.h"

namespace weft {

/// Adds to the graph of a GPT the programs that a search runs, and runs them. Once per graph: the
/// caches have fixed names.
class GptSearch {
 public:
  GptSearch(Graph& graph, const Gpt& gpt);

  /// Continues `prompts`, i64 [prompts, length]; `mask`, of the same type or undefined, has 0 for
  /// padding, which is on the left. Positions count tokens that are no padding. `session` is one
  /// over the graph. Throws as search(), and ArgumentError where learned positions do not reach
  /// max_length.
  SearchResult run(Session& session, const Tensor& prompts, const Tensor& mask,
                   const SearchOptions& options) const;

 private:
  GptConfig config_;
  Program decode_{"search.decode"};
  Program reorder_{"search.reorder"};
};

}  // namespace weft
