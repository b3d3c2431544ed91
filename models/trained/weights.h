// Weights of one model for another: what is there is taken over, what is not starts anew.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/serialization/load_parameters.h"

namespace WEFT_API weft {

/// The parameters and buffers of `graph` that `store` has, by name.
TensorMap weights_of(const Graph& graph, const VariableStore& store);

/// Gives the parameters and buffers of `graph` that `weights` has by name (or alias) these values,
/// in a store that has none of them yet; the others start as always: load_parameters() where
/// anything may be missing or unexpected. Throws one FormatError that lists all whose shapes or
/// dtypes do not fit, and one where nothing is taken over; `source` names the weights in it.
/// Parameters that match one of the patterns `reinit` ("layers.0.*") start anew though there are
/// weights: a head for other classes.
LoadReport load_weights(VariableStore& store, const Graph& graph, const TensorMap& weights,
                        std::string_view source, const std::vector<std::string>& reinit = {});

}  // namespace weft
