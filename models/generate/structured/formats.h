// The values of JSON schema's `format`. Internal.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace weft::structured {

/// Returns the regular expression of a format's texts, or std::nullopt if it is not supported.
std::optional<std::string_view> format_pattern(std::string_view name);
std::vector<std::string_view> format_names();

}  // namespace weft::structured
