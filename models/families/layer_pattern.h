// Patterns that select layers: strings of 0 and 1 that are repeated over the layers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns true if the pattern selects the layer, counted from 0. An empty pattern selects all.
bool layer_selected(std::string_view pattern, std::int64_t layer);

/// Returns the shortest pattern that selects the same of `layers` layers: "" for "11", "10" for
/// "1010". Two patterns are equivalent if and only if their shortest patterns are equal.
std::string shortest_pattern(std::string_view pattern, std::int64_t layers);

/// Throws ArgumentError, which starts with the name of the field, unless the pattern consists of 0
/// and 1 and is not longer than the number of layers.
void check_pattern(std::string_view field, std::string_view pattern, std::int64_t layers);

}  // namespace weft
