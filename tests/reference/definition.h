// What an op of a user's own is defined to give: OpRecord::definition, by scalar models.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/ops/op.h"

namespace weft::testing {

/// Where `results`, which the kernel of `op` gave for these operands, are not what its definition
/// gives, "output 0: element 3 of 12 is 1.5, but 1.25 by its definition (+- 1e-06)"; nullopt where
/// they are. The definition is computed in double, node by node. An f32 result may be as far from
/// that as the definition in f32 is, a few times, and 2e-5 of the largest; an f64 result 1e-10 of
/// the largest.
std::optional<std::string> difference_from_definition(const std::shared_ptr<const OpSet>& ops,
                                                      const OpRecord& op,
                                                      const std::vector<Tensor>& inputs,
                                                      const Attributes& attributes,
                                                      const std::vector<Tensor>& results);

}  // namespace weft::testing
