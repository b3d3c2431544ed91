#include "weft/models/inputs/sentences/torch_activation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

struct TorchClass {
  std::string_view name;
  Value (*apply)(Value x);
};

/// https://pytorch.org/docs/stable/nn.html#non-linear-activations-weighted-sum-nonlinearity
constexpr TorchClass kTorchClasses[] = {
    {"ELU", [](Value x) { return elu(x); }},
    {"GELU", [](Value x) { return gelu(x); }},
    {"Hardsigmoid", [](Value x) { return clamp(x + 3, 0.0, 6.0) / 6; }},
    {"Hardswish", [](Value x) { return hardswish(x); }},
    {"Hardtanh", [](Value x) { return clamp(x, -1.0, 1.0); }},
    {"Identity", [](Value x) { return x; }},
    {"LeakyReLU", [](Value x) { return leaky_relu(x); }},
    {"LogSigmoid", [](Value x) { return -softplus(-x); }},
    {"LogSoftmax", [](Value x) { return log_softmax(x, -1); }},
    {"Mish", [](Value x) { return mish(x); }},
    {"ReLU", [](Value x) { return relu(x); }},
    {"ReLU6", [](Value x) { return clamp(x, 0.0, 6.0); }},
    {"SELU", [](Value x) { return elu(x, 1.6732632423543772) * 1.0507009873554805; }},
    {"SiLU", [](Value x) { return silu(x); }},
    {"Sigmoid", [](Value x) { return sigmoid(x); }},
    {"Softmax", [](Value x) { return softmax(x, -1); }},
    {"Softplus", [](Value x) { return softplus(x); }},
    {"Softsign", [](Value x) { return x / (abs(x) + 1); }},
    {"Tanh", [](Value x) { return tanh(x); }},
    {"Tanhshrink", [](Value x) { return x - tanh(x); }},
};

const TorchClass* find_torch_class(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTorchClasses), std::end(kTorchClasses),
                                   [&](const TorchClass& known) { return known.name == name; });
  return found == std::end(kTorchClasses) ? nullptr : found;
}

}  // namespace

std::string torch_activation(std::string_view path, std::string_view place) {
  const std::string_view name = path.substr(path.rfind('.') + 1);
  if (path.starts_with("torch.nn.") && find_torch_class(name) != nullptr) return std::string(name);
  std::vector<std::string_view> known;
  for (const TorchClass& one : kTorchClasses) known.push_back(one.name);
  throw ArgumentError(
      fmt::format("{}: the activation function \"{}\" is not supported; supported are classes of "
                  "torch.nn: {}",
                  place, excerpt(path), fmt::join(known, ", ")));
}

Value apply_torch_activation(std::string_view name, Value x) {
  if (const TorchClass* found = find_torch_class(name)) return found->apply(x);
  throw ArgumentError(fmt::format("torch.nn has no supported activation function {}", name));
}

}  // namespace weft
