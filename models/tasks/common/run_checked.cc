#include "weft/models/tasks/common/run_checked.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"

namespace weft {

void check_results(const Results& results) {
  for (const auto& [name, tensor] : results) {
    if (tensor.dtype() != DType::f32) continue;
    // -infinity is valid: it marks masked positions.
    const auto values = tensor.span<float>();
    const bool sound = std::all_of(values.begin(), values.end(),
                                   [](float x) { return x <= std::numeric_limits<float>::max(); });
    if (sound) continue;
    throw DataError(
        fmt::format("the model's '{}' are not finite: the weights are damaged, or training "
                    "diverged (weft verify checks the file)",
                    name));
  }
}

Results run_checked(Session& session, const Program& program, const NamedTensors& inputs) {
  Results results = session.run(program, inputs);
  check_results(results);
  return results;
}

}  // namespace weft
