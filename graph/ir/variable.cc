#include "weft/graph/ir/variable.h"

#include <cmath>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::pair<VariableKind, std::string_view> kKinds[] = {
    {VariableKind::parameter, "parameter"},
    {VariableKind::optimizer, "optimizer"},
    {VariableKind::buffer, "buffer"},
    {VariableKind::cache, "cache"},
    {VariableKind::key, "key"},
};

}  // namespace

std::string_view variable_kind_name(VariableKind kind) {
  for (const auto& [k, name] : kKinds) {
    if (k == kind) return name;
  }
  return "unknown";
}

VariableKind parse_variable_kind(std::string_view name) {
  for (const auto& [kind, n] : kKinds) {
    if (n == name) return kind;
  }
  std::vector<std::string> names;
  for (const auto& [kind, n] : kKinds) names.emplace_back(n);
  throw ArgumentError(unknown_name("variable kind", name, names));
}

Initializer Initializer::glorot_uniform(std::int64_t fan_in, std::int64_t fan_out) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  return uniform(-bound, bound);
}

Initializer Initializer::he_normal(std::int64_t fan_in) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_in)));
}

}  // namespace weft
