#include "weft/graph/engine/results.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {

NamedSizes sizes_of(const NamedTensors& tensors) {
  NamedSizes sizes;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined()) sizes.emplace_back(name, tensor.sizes());
  }
  return sizes;
}

const Tensor& Results::operator[](std::string_view name) const {
  for (const auto& [known, tensor] : tensors_) {
    if (known == name) return tensor;
  }
  std::vector<std::string> names;
  for (const auto& [known, tensor] : tensors_) names.push_back(known);
  throw GraphError(fmt::format("the run has no result '{}'{}; its results are: {}", name,
                               did_you_mean(name, names), list_names(names)));
}

bool Results::contains(std::string_view name) const {
  return std::any_of(tensors_.begin(), tensors_.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

}  // namespace weft
