// Enums that users name: in files, on command lines, in help texts.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// What a choice is called in messages ("positions"), and the names of its values, which count from
/// 0.
struct ChoiceNames {
  std::string_view what;
  std::span<const std::string_view> names;
};

/// An enum with names: `choice_names` is declared beside it and found by its argument.
template <class E>
concept Choice = std::is_enum_v<E> && requires(E value) {
  { choice_names(value) } -> std::same_as<ChoiceNames>;
};

/// The place of `name`. Throws ArgumentError that lists the legal names.
std::size_t find_choice(const ChoiceNames& choices, std::string_view name);

template <Choice E>
std::string_view choice_name(E value) {
  return choice_names(value).names[static_cast<std::size_t>(value)];
}

/// Throws ArgumentError that lists the legal names. An enum with further names for its values
/// specialises it.
template <Choice E>
E parse_choice(std::string_view name) {
  return static_cast<E>(find_choice(choice_names(E{}), name));
}

}  // namespace weft
