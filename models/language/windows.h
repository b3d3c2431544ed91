// What stands before each place of a sequence: the operand of models that see a fixed number of
// places.
#pragma once

#include <cstdint>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// A sequence in windows.
struct CausalWindows {
  Value windows;  // [batch, time, kernel * width]
  Value past;     // [batch, (kernel - 1) * dilation, width]: what the places after these also see
};

/// Of every place the elements `dilation` apart that end there, the oldest first, side by side: x
/// [batch, time, width] goes on from `past` [batch, (kernel - 1) * dilation, width], zeros where
/// there is nothing before it. A linear layer of the windows is a causal convolution.
CausalWindows causal_windows(Value x, Value past, std::int64_t kernel, std::int64_t dilation = 1);

}  // namespace weft
