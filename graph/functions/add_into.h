// Sums of tensors of which some only put a part into zeros.
#pragma once

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Whether `v` is a small value put into zeros: unslice; index_add, scatter_add and
/// dynamic_update_slice of zeros. The gradients of slices and lookups are.
bool puts_into_zeros(const Value& v);

/// sum + part, where `part` puts something into zeros: that is added to `sum` at its places. The
/// result may be written over `sum`, so that many parts of one tensor cost no more than their own
/// sizes.
Value put_into(const Value& sum, const Value& part);

/// a + b of one type, by put_into where one of them puts something into zeros.
Value add_into(const Value& a, const Value& b);

}  // namespace weft
