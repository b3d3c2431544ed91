// Memory check for key/value caches during decoding.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/models/tasks/common/text_generator.h"

namespace weft::program {

/// Throws UsageError if the keys and values for all rows of a batch of `prompts` do not fit into
/// memory: "the key/value cache for 64 rows of 512 ids needs 59.6 GiB, but only 15.6 GiB is
/// available: REMEDY". `graph` is the graph of the generator's model. Also throws the same errors
/// as TextGenerator::options_for().
void check_caches(const TextGenerator& generator, const Graph& graph,
                  const std::vector<TokenIds>& prompts, const GenerationOptions& options,
                  std::string_view remedy);

}  // namespace weft::program
