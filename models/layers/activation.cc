#include "weft/models/layers/activation.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/math.h"

namespace weft {

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh: return "gelu_tanh";
    case Activation::gelu_erf: return "gelu_erf";
    case Activation::relu: return "relu";
    case Activation::silu: return "silu";
    case Activation::quick_gelu: return "quick_gelu";
    case Activation::gelu_10: return "gelu_10";
    case Activation::relu6: return "relu6";
    case Activation::mish: return "mish";
    case Activation::sigmoid: return "sigmoid";
    case Activation::linear: return "linear";
    case Activation::tanh: break;
  }
  return "tanh";
}

Activation parse_activation(std::string_view name) {
  if (name == "gelu_tanh" || name == "gelu_new" || name == "gelu_pytorch_tanh" ||
      name == "gelu_fast") {
    return Activation::gelu_tanh;
  }
  if (name == "gelu_erf" || name == "gelu" || name == "gelu_python") return Activation::gelu_erf;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  for (const Activation a :
       {Activation::tanh, Activation::quick_gelu, Activation::gelu_10, Activation::relu6,
        Activation::mish, Activation::sigmoid, Activation::linear}) {
    if (name == activation_name(a)) return a;
  }
  throw ArgumentError(fmt::format(
      "unknown activation '{}': legal are gelu_tanh (also gelu_new, gelu_fast, gelu_pytorch_tanh), "
      "gelu_erf (also gelu, gelu_python), relu, silu (also swish), tanh, quick_gelu, gelu_10, "
      "relu6, "
      "mish, sigmoid, linear",
      name));
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
    case Activation::tanh: break;
  }
  return tanh({x, loc});
}

}  // namespace weft
