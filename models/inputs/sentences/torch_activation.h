// Activation functions by their class names in PyTorch, as Sentence Transformers stores them.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// Returns the class name in a dotted path such as "torch.nn.modules.activation.Tanh": "Tanh". For
/// a path that does not lead into PyTorch or to an unsupported class, throws an ArgumentError that
/// starts with `place` and lists the supported classes.
std::string torch_activation(std::string_view path, std::string_view place);

/// Applies a class that torch_activation() returned, with its default arguments, to x [..., n].
Value apply_torch_activation(std::string_view name, Value x);

}  // namespace weft
