// A simple compiler from character maps to SentencePiece's format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::testing {

inline void append_number(std::string& bytes, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
}

/// Compiles rules that replace each key by its value. The children of every node occupy 256 units.
inline std::string compiled_map(const std::map<std::string, std::string>& rules) {
  constexpr std::uint32_t kBlock = 256, kNoLabel = 0xFF, kLeaf = std::uint32_t{1} << 31;
  std::vector<std::uint32_t> units(kBlock, 0);  // the root is unit 0
  std::map<std::string, std::uint32_t> places = {{"", 0}};
  std::string strings;
  const auto children = [&](std::uint32_t place) {  // the first child of a node
    if (units[place] >> 10 == 0) {
      const auto base = static_cast<std::uint32_t>(units.size());
      units.resize(units.size() + kBlock, kNoLabel);
      units[base] = 1;  // reserved for the leaf: no label leads here
      units[place] |= (place ^ base) << 10;
    }
    return place ^ units[place] >> 10;
  };
  for (const auto& [key, value] : rules) {
    std::uint32_t place = 0;
    for (std::size_t i = 0; i < key.size(); ++i) {
      const std::string prefix = key.substr(0, i + 1);
      if (!places.contains(prefix)) {
        const auto byte = static_cast<unsigned char>(key[i]);
        const std::uint32_t child = children(place) ^ byte;
        units[child] = byte;
        places[prefix] = child;
      }
      place = places[prefix];
    }
    const std::uint32_t leaf = children(place);
    units[place] |= 1U << 8;
    units[leaf] = kLeaf | static_cast<std::uint32_t>(strings.size());
    strings += value + '\0';
  }
  std::string blob;
  append_number(blob, static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t unit : units) append_number(blob, unit);
  return blob + strings;
}

}  // namespace weft::testing
