// Sums with terms that are scattered into zeros, such as the gradients of slices and lookups.
#pragma once

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Returns true if `v` is a smaller value scattered into a tensor of zeros: an unslice, or an
/// index_add, scatter_add or dynamic_update_slice whose destination is zeros. Gradients of slices
/// and lookups have this form.
bool scatters_into_zeros(const Value& v);

/// Returns sum + part for a `part` that is scattered into zeros, by adding its elements to `sum` at
/// their positions. The result may overwrite `sum`, so accumulating many parts into one tensor
/// costs only the sizes of the parts.
Value accumulate_into(const Value& sum, const Value& part);

/// Returns a + b for values of the same type, using accumulate_into() if one of them is scattered
/// into zeros.
Value add_into(const Value& a, const Value& b);

}  // namespace weft
