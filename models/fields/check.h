// Checks of config fields. Errors name the field, its value and the allowed values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace check {

// All functions throw ArgumentError.

/// Requires value >= least.
void at_least(std::string_view name, std::int64_t value, std::int64_t least);
/// Requires a rate, for example of dropout or masking, in [0, 1).
void rate(std::string_view name, double value);
/// Requires low <= value <= high.
void in_range(std::string_view name, double value, double low, double high);
/// Requires a finite value above 0.
void positive(std::string_view name, double value);
/// Requires a finite value of at least 0.
void not_negative(std::string_view name, double value);

/// A value and its maximum.
struct Limit {
  std::string_view name;
  std::int64_t value, most;
};
/// Requires value <= most for each limit. The error names the first value that is too large.
void at_most(std::initializer_list<Limit> limits);

}  // namespace check
}  // namespace weft
