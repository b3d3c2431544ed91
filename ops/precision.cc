#include "weft/ops/precision.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::pair<Precision, std::string_view> kPrecisions[] = {
    {Precision::highest, "highest"}, {Precision::high, "high"}, {Precision::medium, "medium"}};

}  // namespace

std::string_view precision_name(Precision precision) {
  for (const auto& [p, name] : kPrecisions) {
    if (p == precision) return name;
  }
  return "unknown";
}

Precision parse_precision(std::string_view name) {
  for (const auto& [p, n] : kPrecisions) {
    if (n == name) return p;
  }
  throw ArgumentError(fmt::format("unknown precision '{}'; there are highest, high, medium", name));
}

}  // namespace weft
