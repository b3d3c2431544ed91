// Enums with names for files, command lines and help texts.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The name of an enum in messages ("positions") and the names of its values. The values must be
/// numbered from 0.
struct ChoiceNames {
  std::string_view what;
  std::span<const std::string_view> names;
};

/// An enum with names. `choice_names` is declared next to the enum and found by argument-dependent
/// lookup.
template <class E>
concept Choice = std::is_enum_v<E> && requires(E value) {
  { choice_names(value) } -> std::same_as<ChoiceNames>;
};

/// Returns the index of `name`. Throws an ArgumentError that lists the allowed names.
std::size_t find_choice(const ChoiceNames& choices, std::string_view name);

/// Returns the name of a value.
template <Choice E>
std::string_view choice_name(E value) {
  return choice_names(value).names[static_cast<std::size_t>(value)];
}

/// Returns the value with this name. Throws an ArgumentError that lists the allowed names. For
/// enums whose values have additional names, this function is specialised.
template <Choice E>
E parse_choice(std::string_view name) {
  return static_cast<E>(find_choice(choice_names(E{}), name));
}

}  // namespace weft
