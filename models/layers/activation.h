// The nonlinearities that models name in their configs.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"

namespace weft {

enum class Activation : std::uint8_t { gelu_tanh, gelu_erf, relu, silu, tanh };

/// "gelu_tanh", "gelu_erf", "relu", "silu", "tanh".
std::string_view activation_name(Activation activation);
/// Takes activation_name's names and Hugging Face's ("gelu_new", "gelu", "swish", ...). Throws
/// ArgumentError that lists the legal names.
Activation parse_activation(std::string_view name);

/// Applies it elementwise.
Value activate(Activation activation, Value x, SourceLocation loc = SourceLocation::current());

}  // namespace weft
