// Copies weights from one model to another. Parameters that the source lacks are initialised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/serialization/load_parameters.h"

namespace WEFT_API weft {

/// Returns the parameters and buffers of `graph` that `store` contains, by name.
TensorMap weights_of(const Graph& graph, const VariableStore& store);

/// Sets the parameters and buffers of `graph` that `weights` contains by name or alias. `store`
/// must not contain any of them yet. The others start from their initialisers. This is
/// load_parameters() with all missing and unexpected keys allowed. Parameters that match one of the
/// patterns `reinit` ("layers.0.*") are initialised although `weights` contains them, for example a
/// head for other classes. Throws a FormatError that lists all tensors with mismatched shapes or
/// dtypes, and one if no weights match at all; `source` names the weights in these messages.
LoadReport load_weights(VariableStore& store, const Graph& graph, const TensorMap& weights,
                        std::string_view source, const std::vector<std::string>& reinit = {});

}  // namespace weft
