// Names in error messages: suggestions for misspelt names, and lists of valid ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the optimal string alignment distance: the minimum number of single-byte insertions,
/// deletions and replacements and of swaps of two adjacent bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the name in `known` that `name` is most likely a misspelling of, or "" if none is close.
/// A name is close if at most half of `name` differs, or if the two names differ only in a scope
/// prefix ("head.weight", "net.head.weight").
std::string closest_name(std::string_view name, const std::vector<std::string>& known);

/// Returns " (did you mean 'weight'?)", or "" if no name is close.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

/// Returns a list such as "a, b, c and 7 more", with at most `most` names, or "none" if there are
/// no names.
std::string list_names(const std::vector<std::string>& names, std::size_t most = 20);

/// Returns the error message for a name that is not in `known`: "unknown precision 'hgih' (did you
/// mean 'high'?); available: highest, high, medium".
std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known);

}  // namespace weft
