#include "weft/graph/weights/parameter_count.h"

#include <set>
#include <string>
#include <utility>

#include "weft/graph/weights/quantized_weights.h"

namespace weft {

std::int64_t count_parameters(const Graph& graph) {
  std::int64_t count = 0;
  std::set<std::string> quantized;
  for (const auto& [name, weight] : quantized_weights(graph)) {
    count += weight.inputs * weight.outputs;
    for (std::string& kept : stored_names(name, weight.format)) quantized.insert(std::move(kept));
  }
  for (const Variable& v : graph.variables()) {
    if (v.info().kind != VariableKind::parameter || quantized.contains(v.name())) continue;
    count += num_elements(v.info().type.shape.evaluate({}));
  }
  return count;
}

}  // namespace weft
