#include "weft/models/layers/activation.h"

#include <utility>

#include "weft/graph/functions/math.h"

namespace weft {

namespace {

constexpr std::string_view kNames[] = {"gelu_tanh", "gelu_erf",   "relu",    "silu",
                                       "tanh",      "quick_gelu", "gelu_10", "relu6",
                                       "mish",      "sigmoid",    "linear",  "relu2"};

/// Hugging Face's names for some activations.
constexpr std::pair<std::string_view, Activation> kOtherNames[] = {
    {"gelu_new", Activation::gelu_tanh},          {"gelu_fast", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh}, {"gelu", Activation::gelu_erf},
    {"gelu_python", Activation::gelu_erf},        {"swish", Activation::silu},
};

}  // namespace

ChoiceNames choice_names(Activation) { return {"activation", kNames}; }

template <>
Activation parse_choice<Activation>(std::string_view name) {
  for (const auto& [other, activation] : kOtherNames) {
    if (name == other) return activation;
  }
  return static_cast<Activation>(find_choice(choice_names(Activation{}), name));
}

Value activate(Activation activation, Value x, SourceLocation loc) {
  switch (activation) {
    case Activation::gelu_tanh: return gelu({x, loc}, GeluForm::tanh);
    case Activation::gelu_erf: return gelu({x, loc}, GeluForm::erf);
    case Activation::relu: return relu({x, loc});
    case Activation::silu: return silu({x, loc});
    case Activation::quick_gelu: return quick_gelu({x, loc});
    case Activation::gelu_10: return clamp({gelu({x, loc}, GeluForm::erf), loc}, -10.0, 10.0);
    case Activation::relu6: return clamp({x, loc}, 0.0, 6.0);
    case Activation::mish: return mish({x, loc});
    case Activation::sigmoid: return sigmoid({x, loc});
    case Activation::linear: return x;
    case Activation::relu2: return square({relu({x, loc}), loc});
    case Activation::tanh: break;
  }
  return tanh({x, loc});
}

}  // namespace weft
