// What ranks run of a program with shards, and what they exchange, as text.
#pragma once

#include <string>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Whose parts.
struct PartsOf {
  int ranks = 1;
  int rank = 0;
};

/// The parts of a program with shards (split_shards.h, owned_step.h) in the order in which rank
/// `of.rank` of `of.ranks` runs them, as to_text() writes programs, and between them a comment for
/// each exchange with the other ranks: all_reduce and reduce_scatter of sums, all_gather of what
/// each rank has for all. Throws GraphError as Session::run does for a program that cannot be cut,
/// ArgumentError for one without shards, more ranks than shards, and a rank that is none of them.
///   fmt::print("{}", parts_text(train, {.ranks = 4}));
std::string parts_text(const Program& program, const PartsOf& of = {});

}  // namespace weft
