// The nonlinearities that models name in their configs.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// What an Activation layer applies, elementwise.
enum class Activation : std::uint8_t {
  gelu_tanh,
  gelu_erf,
  relu,
  silu,
  tanh,
  quick_gelu,  // x sigmoid(1.702 x)
  gelu_10,     // gelu_erf between -10 and 10
  relu6,       // relu, at most 6
  mish,
  sigmoid,
  linear,  // none
};

/// The names above.
ChoiceNames choice_names(Activation);
/// Takes Hugging Face's names, too ("gelu_new", "gelu", "swish", ...).
template <>
Activation parse_choice<Activation>(std::string_view name);

/// Applies it elementwise.
Value activate(Activation activation, Value x, SourceLocation loc = SourceLocation::current());

}  // namespace weft
