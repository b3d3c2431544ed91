#include "weft/models/hf/name_map.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::hf {

void NameMap::add(const std::string& ours, const std::string& theirs) {
  const auto put = [&](Table& table, const std::string& from, const std::string& to) {
    const auto [it, added] = table.emplace(from, to);
    if (!added && it->second != to) {
      throw ArgumentError(fmt::format("'{}' is already mapped to '{}' and cannot be mapped to '{}'",
                                      from, it->second, to));
    }
  };
  put(theirs_, ours, theirs);
  put(ours_, theirs, ours);
}

void NameMap::add_layers(std::int64_t layers, const std::string& ours, const std::string& theirs,
                         const ModuleNames& modules) {
  for (std::int64_t i = 0; i < layers; ++i) {
    for (const auto& [a, b] : modules)
      add(fmt::format("{}.{}.{}", ours, i, a), fmt::format("{}.{}.{}", theirs, i, b));
  }
}

std::string NameMap::translate(const Table& table, std::string_view name) {
  for (std::size_t end = name.size();;) {
    if (const auto it = table.find(name.substr(0, end)); it != table.end())
      return it->second + std::string(name.substr(end));
    end = name.rfind('.', end - 1);
    if (end == std::string_view::npos || end == 0) return std::string(name);
  }
}

}  // namespace weft::hf
