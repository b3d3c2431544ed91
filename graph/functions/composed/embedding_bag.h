// embedding_bag: embedding lookups that are reduced over bags of ids.
#pragma once

#include <cstdint>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// The reduction over the rows of a bag.
enum class BagReduction : std::uint8_t { sum, mean, max };

struct EmbeddingBagOptions {
  BagReduction reduction = BagReduction::mean;
  /// Only for ids [bags, n]: the number of ids at the beginning of each row that belong to the bag,
  /// i32 or i64 [bags]. If absent or greater than n, the whole row is used. The remaining ids are
  /// ignored, but must be valid.
  OptionalArg lengths = {};
  /// Only for ids [n]: the start of each bag, i32 or i64 [bags], ascending and beginning with 0. A
  /// bag ends at the start of the next one.
  OptionalArg offsets = {};
  /// A factor for each id, with the shape of `ids` and the dtype of `weight` (PyTorch:
  /// per_sample_weights). Requires BagReduction::sum.
  OptionalArg factors = {};
};

/// Looks up rows of weight [vocabulary, width] by id and reduces them over each bag by sum, mean or
/// maximum -> [bags, width] (PyTorch: EmbeddingBag). `ids` is i32 or i64, [bags, n] or, with
/// offsets, [n]. An empty bag gives zeros. For the maximum, NaN counts as largest, and only the
/// first of several equal maxima receives the gradient. At run time, throws DataError for ids out
/// of range, and for offsets that are not ascending, do not begin with 0 or exceed n.
///
/// Materialises all rows that are looked up, [bags, n, width] or [n, width]. The maximum with
/// offsets needs four times this memory and log2(length of the longest bag) passes over it.
Value embedding_bag(Arg ids, Arg weight, const EmbeddingBagOptions& options = {});

}  // namespace weft
