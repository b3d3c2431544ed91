// Text of the programs that a rank runs for a sharded program, and of the exchanges between
// ranks.
#pragma once

#include <string>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Selects the rank for which programs are printed.
struct PartsTextOptions {
  int ranks = 1;
  int rank = 0;
};

/// Returns the parts of a sharded program (split_shards.h, owned_step.h) in the order in which rank
/// `of.rank` of `of.ranks` runs them, in the format of to_text(). Comments between them show the
/// exchanges with other ranks: all_reduce and reduce_scatter of sums, and all_gather of values that
/// every rank contributes. Throws GraphError, like Session::run, for a program that cannot be
/// split. Throws ArgumentError for an unsharded program, for more ranks than shards, and for a rank
/// out of range.
///   fmt::print("{}", parts_text(train, {.ranks = 4}));
std::string parts_text(const Program& program, const PartsTextOptions& of = {});

}  // namespace weft
