// Bags of ids: look-ups that are summed up at once.
#pragma once

#include <cstdint>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// How the rows of a bag become one.
enum class BagReduction : std::uint8_t { sum, mean, max };

struct EmbeddingBagOptions {
  BagReduction reduction = BagReduction::mean;
  /// For ids [bags, n]: how many of each row count, i32 or i64 [bags]; absent, or more than n: all.
  /// The others may be any legal id.
  OptionalArg lengths = {};
  /// For ids [n]: where each bag begins, i32 or i64 [bags], ascending, the first 0; a bag ends
  /// where the next one begins.
  OptionalArg offsets = {};
  /// A factor for every id, of the ids' shape and the weight's dtype; with BagReduction::sum alone.
  OptionalArg factors = {};
};

/// Rows of weight [vocabulary, width] by id, summed, averaged or maximised over each bag -> [bags,
/// width] (PyTorch: EmbeddingBag). A bag without ids gives zeros. ids are i32 or i64, [bags, n] or,
/// with offsets, [n]. Where several rows of a bag have the largest element, the first of them gets
/// its gradient; a NaN is larger than all. Ids out of range are a DataError of the run, and offsets
/// that do not ascend from 0 to at most n.
/// Takes memory for all rows that are looked up, [bags, n, width] or [n, width]; a maximum by
/// offsets four times that, and log2(the longest bag) passes over it.
Value embedding_bag(Arg ids, Arg weight, const EmbeddingBagOptions& options = {});

}  // namespace weft
