#include "weft/models/fields/choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {

std::size_t find_choice(const ChoiceNames& choices, std::string_view name) {
  const auto found = std::find(choices.names.begin(), choices.names.end(), name);
  if (found == choices.names.end()) {
    throw ArgumentError(fmt::format("unknown {} '{}': expected one of {}", choices.what,
                                    excerpt(name), fmt::join(choices.names, ", ")));
  }
  return static_cast<std::size_t>(found - choices.names.begin());
}

}  // namespace weft
