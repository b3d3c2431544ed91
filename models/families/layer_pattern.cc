#include "weft/models/families/layer_pattern.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {

bool layer_selected(std::string_view pattern, std::int64_t layer) {
  return pattern.empty() || pattern[static_cast<std::size_t>(layer) % pattern.size()] == '1';
}

std::string shortest_pattern(std::string_view pattern, std::int64_t layers) {
  std::string all;
  for (std::int64_t i = 0; i < layers; ++i) all += layer_selected(pattern, i) ? '1' : '0';
  for (std::size_t period = 1; period < all.size(); ++period) {
    // A string has a period if it equals itself shifted by the period.
    if (all.compare(period, all.npos, all, 0, all.size() - period) == 0) all.resize(period);
  }
  return all == "1" ? "" : all;
}

void check_pattern(std::string_view field, std::string_view pattern, std::int64_t layers) {
  if (pattern.find_first_not_of("01") != pattern.npos) {
    throw ArgumentError(fmt::format("{} must be a pattern of 0 and 1, such as 110, not '{}'", field,
                                    excerpt(pattern)));
  }
  if (static_cast<std::int64_t>(pattern.size()) > layers) {
    throw ArgumentError(fmt::format("{} is a pattern of {} layers, but the model has {}", field,
                                    pattern.size(), layers));
  }
}

}  // namespace weft
