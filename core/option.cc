#include "weft/core/option.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"

namespace weft {
namespace {

bool is_allowed(double value, Allowed allowed) {
  if (!std::isfinite(value)) return false;
  switch (allowed) {
    case Allowed::finite: return true;
    case Allowed::positive: return value > 0;
    case Allowed::not_negative: return value >= 0;
    case Allowed::fraction: return value >= 0 && value <= 1;
    case Allowed::decay: return value >= 0 && value < 1;
  }
  return false;
}

std::string_view range_text(double value, Allowed allowed) {
  switch (allowed) {
    case Allowed::finite: return "finite";
    case Allowed::positive: return value > 0 ? "positive and finite" : "positive";
    case Allowed::not_negative: return "finite and at least 0";
    case Allowed::fraction: return "in [0, 1]";
    case Allowed::decay: return "in [0, 1)";
  }
  return "";
}

}  // namespace

std::string option_error(std::string_view option, double value, Allowed allowed) {
  if (is_allowed(value, allowed)) return "";
  return fmt::format("{} must be {}, but is {}", option, range_text(value, allowed), value);
}

void require_option(std::string_view function, std::string_view option, double value,
                    Allowed allowed, SourceLocation loc) {
  const std::string error = option_error(option, value, allowed);
  if (error.empty()) return;
  throw ArgumentError(fmt::format("{}: {}{}", function, error,
                                  loc.known() ? "\n  at " + loc.str() : std::string()));
}

}  // namespace weft
