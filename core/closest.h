// Names in messages: the closest known one, and a list of what there is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Insertions, deletions and replacements of one byte, and swaps of two neighbours (the distance of
/// optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `known` that `name` was probably meant to be, or "": at most half of the name
/// differs, or one is the other with a scope in front ("head.weight", "net.head.weight").
std::string closest_name(std::string_view name, const std::vector<std::string>& known);

/// " (did you mean 'weight'?)", or "" where nothing is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

/// "a, b, c and 7 more"; "none" where there are none.
std::string list_names(const std::vector<std::string>& names, std::size_t most = 20);

/// The message for a name that is none of `known`: "unknown precision 'hgih' (did you mean
/// 'high'?); there are highest, high, medium".
std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known);

}  // namespace weft
