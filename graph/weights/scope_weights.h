// The weights of a model by their names below its scope, and strict comparison of two models.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// The types of weights by name relative to a scope.
using WeightTypes = std::map<std::string, ValueType, std::less<>>;

/// Returns the parameters (trainable and frozen) and buffers in and below `scope`, by their names
/// relative to the scope: "block.weight" for "policy.block.weight" in scope "policy". Throws an
/// ArgumentError that lists names of the graph if the scope has no weights. `function` is the
/// function that the user called.
std::map<std::string, Variable, std::less<>> scope_weights(std::string_view function,
                                                           const Scope& scope, SourceLocation loc);

/// Returns the types of the given weights.
WeightTypes types_of(const std::map<std::string, Variable, std::less<>>& weights);

/// Throws an ArgumentError that lists all missing weights, unexpected weights and weights of
/// another type, unless both models have the same names and types. `from` and `to` describe the
/// models in the message: "scope 'policy'".
void require_same_weights(std::string_view function, std::string_view from,
                          const WeightTypes& given, std::string_view to, const WeightTypes& wanted,
                          SourceLocation loc);

/// Returns "scope 'policy'", or "the graph" for the root scope.
std::string scope_text(const Scope& scope);

}  // namespace weft
