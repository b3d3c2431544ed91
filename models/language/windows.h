// Causal windows over a sequence, the input of models that read a fixed number of positions.
#pragma once

#include <cstdint>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// The overlapping windows of a sequence.
struct CausalWindows {
  Value windows;  // [batch, time, kernel * width]
  /// [batch, (kernel - 1) * dilation, width]: the last elements, which later windows also contain.
  Value past;
};

/// Returns the window of every position of x [batch, time, width]: the `kernel` elements `dilation`
/// apart that end there, concatenated from oldest to newest. `past` [batch, (kernel - 1) *
/// dilation, width] contains the elements before x and is zero at the beginning of a text. A linear
/// layer over the windows is a causal convolution.
CausalWindows causal_windows(Value x, Value past, std::int64_t kernel, std::int64_t dilation = 1);

}  // namespace weft
