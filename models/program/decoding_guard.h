// What decoding keeps in memory, beside what the machine has.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/models/tasks/common/text_generator.h"

namespace weft::program {

/// UsageError where the keys and values of all rows of a batch of `prompts` do not fit: "keeping
/// keys and values of 64 rows of 512 ids takes 59.6 GiB, and there are 15.6 GiB: CURE". `graph` is
/// that of the generator's model. Throws as TextGenerator::options_for().
void check_caches(const TextGenerator& generator, const Graph& graph,
                  const std::vector<TokenIds>& prompts, const WriteOptions& options,
                  std::string_view cure);

}  // namespace weft::program
