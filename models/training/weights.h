// Copies weights from one model to another. Parameters that are missing from the source are
// initialised.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/serialization/load_parameters.h"

namespace WEFT_API weft {

/// Returns the parameters and buffers of `graph` that are in `store`, by name.
TensorMap weights_of(const Graph& graph, const VariableStore& store);

/// Sets each parameter and buffer of `graph` that is in `weights` under its name or an alias.
/// `store` must not contain any of them yet. All others are set by their initialisers. This is
/// equivalent to load_parameters() with all missing and unexpected keys allowed. Parameters that
/// match one of the patterns in `reinit` ("layers.0.*") are initialised even if `weights` contains
/// them, for example a head for other classes. Throws a FormatError that lists all tensors with a
/// wrong shape or dtype. Also throws FormatError if no weights match at all. `source` names the
/// weights in these messages.
LoadReport load_weights(VariableStore& store, const Graph& graph, const TensorMap& weights,
                        std::string_view source, const std::vector<std::string>& reinit = {});

}  // namespace weft
