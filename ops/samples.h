// The hook by which test programs add samples to the records of the built-in ops. Samples are test
// data, so the library contains none.
#pragma once

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Sets the samples and error samples of the records. builtin_ops() calls this function if the
/// program defines it (tests/samples/builtin_samples.cc).
[[gnu::weak]] void add_builtin_samples(OpSet& ops);

}  // namespace weft
