// bf16 key/value caches, a part of the transform in quantize.h.
#pragma once

#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Declares the f32 caches of `source` as bf16 in the target of the cloner. Programs read them
/// through a cast. Returns the number of caches.
std::size_t declare_narrow_caches(Graph& source, Cloner& cloner);

/// Rewrite callback for a Cloner that keeps writes to narrow caches, and lookups of their rows, in
/// bf16:
///   dynamic_update_slice(cast(c), x, at) -> cast(dynamic_update_slice(c, cast(x), at))
///   tensor_scatter(cast(c), x, ...)      -> cast(tensor_scatter(c, cast(x), ...))
///   take(cast(c), rows)                  -> cast(take(c, rows))
std::vector<Value> keep_caches_narrow(const Node& node, const std::vector<Value>& inputs,
                                      Graph& target);

/// Returns `value` in the form in which a variable of type `dtype` stores it: the value that it was
/// widened from, or a cast.
Value as_stored(Value value, DType dtype);

}  // namespace weft
