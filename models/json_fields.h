// Structs as JSON objects, strictly: every field is written, and reading refuses missing (but see
// Added), unknown and wrongly typed ones. Internal to models.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/layers/activation.h"
#include "weft/serialization/strict_json.h"

namespace weft::json_fields {

using nlohmann::json;

/// The object in `text`; throws FormatError.
inline json parse_object(std::string_view text, std::string_view what) {
  return parse_json_object(text, what);
}

/// The choice of Enum, whose values count from 0, that is called `name`; throws ArgumentError that
/// says what kind of choice it is and lists the legal names.
template <class Enum, class Names>
Enum parse_choice(const Names& names, std::string_view name, std::string_view what) {
  std::size_t i = 0;
  for (const std::string_view legal : names) {
    if (legal == name) return static_cast<Enum>(i);
    ++i;
  }
  throw ArgumentError(
      fmt::format("unknown {} '{}': legal are {}", what, excerpt(name), fmt::join(names, ", ")));
}

/// Names of a choice that a field makes: a family adds its own enums by overloading both beside
/// them (they are found by their argument).
inline std::string_view field_name(Activation activation) { return activation_name(activation); }
inline void parse_field(std::string_view name, Activation& activation) {
  activation = parse_activation(name);
}

/// Reads a number, a bool, a string or a choice; throws FormatError.
template <class T>
void read(const json& value, std::string_view key, T& field) {
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
    // get() would wrap around.
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
  } else {
    static_assert(std::is_enum_v<T>);
    require(value.is_string(), "a string");
    parse_field(value.get<std::string>(), field);
  }
}

/// Third argument of a visitor for a field that the first version's files do not have: it keeps its
/// default where it is missing.
struct Added {};

/// Writes every field that `visit_fields(object, visitor)` names.
template <class Object, class Fields>
nlohmann::ordered_json write_object(const Object& object, Fields&& visit_fields) {
  nlohmann::ordered_json out;
  visit_fields(object, [&](const char* name, const auto& field, auto...) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_arithmetic_v<Field> || std::is_same_v<Field, std::string>) {
      out[name] = field;
    } else {
      out[name] = std::string(field_name(field));
    }
  });
  return out;
}

/// Reads every field; `ignore` is a key besides the fields.
template <class Object, class Fields>
void read_object(const json& parsed, Object& object, Fields&& visit_fields, std::string_view what,
                 const std::string& ignore = {}) {
  std::set<std::string> known = {ignore};
  visit_fields(object, [&](const char* name, auto& field, auto... added) {
    known.insert(name);
    const auto it = parsed.find(name);
    if (it != parsed.end()) {
      read(*it, name, field);
    } else if (sizeof...(added) == 0) {
      throw FormatError(fmt::format("{} lacks '{}'", what, name));
    }
  });
  for (const auto& [key, value] : parsed.items()) {
    if (!known.contains(key))
      throw FormatError(fmt::format("{} has an unknown field '{}'", what, excerpt(key)));
  }
}

}  // namespace weft::json_fields
