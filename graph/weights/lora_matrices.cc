#include "weft/graph/weights/lora_matrices.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Throws ArgumentError if the adapter does not match the sizes of its matrix.
void check_adapter(const std::string& name, const LoraAdapters::Adapter& adapter,
                   const AdapterSizes& sizes) {
  const auto fits = [](const Tensor& t) { return t.dtype() == DType::f32 && t.rank() == 2; };
  if (fits(adapter.a) && fits(adapter.b) && adapter.a.size(1) == sizes.inputs &&
      adapter.b.size(0) == sizes.outputs && adapter.a.size(0) == adapter.b.size(1))
    return;
  throw ArgumentError(fmt::format(
      "the adapter of {} has A {}{} and B {}{}; a matrix with {} inputs and {} outputs needs "
      "f32[rank, {}] and f32[{}, rank]",
      name, dtype_name(adapter.a.dtype()), to_string(adapter.a.sizes()),
      dtype_name(adapter.b.dtype()), to_string(adapter.b.sizes()), sizes.inputs, sizes.outputs,
      sizes.inputs, sizes.outputs));
}

}  // namespace

AdapterSizes adapter_sizes(const WeightMatrix& matrix, bool lookup) {
  if (lookup) return {matrix.rows(), matrix.columns()};
  return {matrix.inputs(), matrix.outputs()};
}

std::vector<MatchedAdapter> matched_adapters(const LoraAdapters& adapters,
                                             const std::vector<WeightMatrix>& matrices) {
  std::vector<MatchedAdapter> result;
  for (const bool lookup : {false, true}) {
    for (const auto& [name, adapter] : lookup ? adapters.lookups : adapters.adapters) {
      const auto matrix =
          std::find_if(matrices.begin(), matrices.end(), [&, lookup](const WeightMatrix& m) {
            return m.name == name && (lookup ? m.looked_up : m.multiplied);
          });
      if (matrix == matrices.end()) {
        throw ArgumentError(fmt::format(
            "there is an adapter for {}, which is not a weight matrix of the model", name));
      }
      check_adapter(name, adapter, adapter_sizes(*matrix, lookup));
      result.push_back({*matrix, adapter, lookup});
    }
  }
  return result;
}

}  // namespace weft
