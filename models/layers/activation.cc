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
  if (name == "tanh") return Activation::tanh;
  throw ArgumentError(fmt::format(
      "unknown activation '{}': legal are gelu_tanh (also gelu_new, gelu_fast, gelu_pytorch_tanh), "
      "gelu_erf (also gelu, gelu_python), relu, silu (also swish), tanh",
      name));
}

Value activate(Activation activation, Value x, SourceLocation loc) {
  switch (activation) {
    case Activation::gelu_tanh: return gelu({x, loc}, GeluForm::tanh);
    case Activation::gelu_erf: return gelu({x, loc}, GeluForm::erf);
    case Activation::relu: return relu({x, loc});
    case Activation::silu: return silu({x, loc});
    case Activation::tanh: break;
  }
  return tanh({x, loc});
}

}  // namespace weft
