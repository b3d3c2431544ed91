// Elementwise nonlinearities, by their names in model configs.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// Elementwise nonlinearities.
enum class Activation : std::uint8_t {
  gelu_tanh,
  gelu_erf,
  relu,
  silu,
  tanh,
  quick_gelu,  // x sigmoid(1.702 x)
  gelu_10,     // gelu_erf, clamped to [-10, 10]
  relu6,       // min(relu(x), 6)
  mish,
  sigmoid,
  linear,  // x
  relu2,   // relu(x)^2 (So et al. 2021, "Primer")
};

/// The names equal the enumerators.
ChoiceNames choice_names(Activation);
/// Also accepts Hugging Face's names ("gelu_new", "gelu", "swish", ...).
template <>
Activation parse_choice<Activation>(std::string_view name);

/// Applies the activation elementwise.
Value activate(Activation activation, Value x, SourceLocation loc = SourceLocation::current());

}  // namespace weft
