// Checks a custom op against OpRecord::definition, which is evaluated with scalar models.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// Compares `results`, computed by the kernel of `op` for these operands, with the definition of
/// the op. Returns the first difference, such as "output 0: element 3 of 12 is 1.5, but 1.25 by its
/// definition (+- 1e-06)", or nullopt. The definition is computed in double, node by node. The
/// tolerance for an f32 result is 4 times the largest error of the definition in f32 plus 2e-5 of
/// the largest element. The tolerance for an f64 result is 1e-10 of the largest element.
std::optional<std::string> difference_from_definition(const std::shared_ptr<const OpSet>& ops,
                                                      const OpRecord& op,
                                                      const std::vector<Tensor>& inputs,
                                                      const Attributes& attributes,
                                                      const std::vector<Tensor>& results);

}  // namespace weft::testing
