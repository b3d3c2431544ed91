#include "weft/models/fields/check.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"

namespace weft::check {
namespace {

template <class T>
void require(bool fits, std::string_view name, std::string_view wanted, T value) {
  if (!fits) throw ArgumentError(fmt::format("{} must be {}, not {}", name, wanted, value));
}

}  // namespace

void at_least(std::string_view name, std::int64_t value, std::int64_t least) {
  require(value >= least, name, fmt::format("at least {}", least), value);
}

void rate(std::string_view name, double value) {
  require(value >= 0 && value < 1, name, "in [0, 1)", value);
}

void in_range(std::string_view name, double value, double low, double high) {
  require(value >= low && value <= high, name, fmt::format("in [{}, {}]", low, high), value);
}

void positive(std::string_view name, double value) {
  require(value > 0 && std::isfinite(value), name, "positive", value);
}

void not_negative(std::string_view name, double value) {
  if (!(value >= 0 && std::isfinite(value)))
    throw ArgumentError(fmt::format("{} must be at least 0 and finite, not {}", name, value));
}

void at_most(std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits)
    require(limit.value <= limit.most, limit.name, fmt::format("at most {}", limit.most),
            limit.value);
}

}  // namespace weft::check
