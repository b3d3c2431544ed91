// What the fields of a config may be: errors that name the field, its value and what is allowed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace check {

// All throw ArgumentError.

void at_least(std::string_view name, std::int64_t value, std::int64_t least);
/// A fraction that is dropped, masked, ...: in [0, 1).
void rate(std::string_view name, double value);
/// Both ends are legal.
void in_range(std::string_view name, double value, double low, double high);
/// Above 0.
void positive(std::string_view name, double value);
/// 0 or more.
void not_negative(std::string_view name, double value);

/// A size that nothing may exceed.
struct Limit {
  std::string_view name;
  std::int64_t value, most;
};
/// Names the first value that is too large.
void at_most(std::initializer_list<Limit> limits);

}  // namespace check
}  // namespace weft
