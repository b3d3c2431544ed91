// Key/value caches in bf16 or int8, a part of the transform in quantize.h.
#pragma once

#include <vector>

#include "weft/graph/ir/clone.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

/// Declares the f32 caches of `source` in another format in the target of the cloner. Programs read
/// them through a cast (bf16) or unpack_int8_rows (int8). Returns the number of caches.
std::size_t declare_narrow_caches(Graph& source, Cloner& cloner, CacheFormat format);

/// Rewrite callback for a Cloner that keeps writes to narrow caches, and lookups of their rows, in
/// the format of the cache:
///   dynamic_update_slice(cast(c), x, at) -> cast(dynamic_update_slice(c, cast(x), at))
///   tensor_scatter(cast(c), x, ...)      -> cast(tensor_scatter(c, cast(x), ...))
///   take(cast(c), rows)                  -> cast(take(c, rows))
/// For int8, the casts are unpack_int8_rows and pack_int8_rows, and the last axis must be written
/// or looked up as a whole.
std::vector<Value> keep_caches_narrow(const Node& node, const std::vector<Value>& inputs,
                                      Graph& target);

/// Returns `value` in the form in which a variable of type `dtype` stores it: the value that it was
/// widened from, or a conversion.
Value as_stored(Value value, DType dtype);

}  // namespace weft
