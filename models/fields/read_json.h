// Strict reading of single values of JSON objects.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/fields/choice.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {

/// Reads a number, a list of numbers, a bool, a string or a choice into `field`. `key` is its name
/// in messages. Throws FormatError if the value has another type or is outside the range of the
/// field.
template <class T>
void read_json(const nlohmann::json& value, std::string_view key, T& field) {
  const auto require = [&](bool fits, std::string_view wanted) {
    if (!fits)
      throw FormatError(fmt::format("'{}' must be {}, not {}", key, wanted, json_excerpt(value)));
  };
  if constexpr (std::is_same_v<T, bool>) {
    require(value.is_boolean(), "true or false");
    field = value.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    require(std::is_unsigned_v<T> ? value.is_number_unsigned() : value.is_number_integer(),
            std::is_unsigned_v<T> ? "an integer that is not negative" : "an integer");
    // get() would silently wrap out-of-range values around.
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : std::in_range<T>(value.get<std::int64_t>());
    require(fits, fmt::format("an integer in [{}, {}]", std::numeric_limits<T>::min(),
                              std::numeric_limits<T>::max()));
    field = value.get<T>();
  } else if constexpr (std::is_floating_point_v<T>) {
    require(value.is_number(), "a number");
    field = value.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    require(value.is_string(), "a string");
    field = value.get<std::string>();
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    require(value.is_array(), "a list of numbers");
    for (const nlohmann::json& number : value) require(number.is_number(), "a list of numbers");
    field = value.get<T>();
  } else {
    static_assert(Choice<T>);
    require(value.is_string(), "a string");
    field = parse_choice<T>(value.get<std::string>());
  }
}

}  // namespace weft
