#include "weft/ops/precision.h"

#include <string>
#include <utility>
#include <vector>

#include "weft/core/closest.h"
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
  std::vector<std::string> names;
  for (const auto& [p, n] : kPrecisions) names.emplace_back(n);
  throw ArgumentError(unknown_name("precision", name, names));
}

}  // namespace weft
