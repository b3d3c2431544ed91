// Caches of keys and values in fewer bits: part of the transform of weights (quantize.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Declares the f32 caches of `source` as bf16 in the target of the cloner. Programs read them
/// through a cast. Returns how many there are.
std::size_t declare_narrow_caches(Graph& source, Cloner& cloner);

/// For a Cloner: what is written into a cache, or taken from its rows, stays narrow:
///   dynamic_update_slice(cast(c), x, at) -> cast(dynamic_update_slice(c, cast(x), at))
///   take(cast(c), rows)                  -> cast(take(c, rows))
std::vector<Value> keep_caches_narrow(const Node& node, const std::vector<Value>& inputs,
                                      Graph& target);

/// `value` as a variable of type `dtype` keeps it: what it was widened from, or a cast.
Value as_stored(Value value, DType dtype);

}  // namespace weft
