#include "weft/models/text/tokenizers/normalizers/precompiled.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

// A unit of the double array is a node or a value. A node has a label (the byte that leads to it),
// the offset of its children, and a flag that is set if it has a leaf. The leaf is the node's child
// for byte 0 and contains a value.
constexpr std::uint32_t kLeaf = std::uint32_t{1} << 31;

std::uint32_t label(std::uint32_t unit) { return unit & (kLeaf | 0xFF); }
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
std::uint32_t offset(std::uint32_t unit) { return unit >> 10 << ((unit & 1U << 9) >> 6); }
std::uint32_t value(std::uint32_t unit) { return unit & ~kLeaf; }

[[noreturn]] void fail(const std::string& what) {
  throw FormatError(fmt::format("not a compiled character map: {}", what));
}

void check_replacements(std::string_view text) {
  try {
    for (std::size_t at = 0; at < text.size();) next_code_point(text, at);
  } catch (const FormatError& e) {
    fail(fmt::format("its replacements are {}", e.what()));
  }
}

}  // namespace

PrecompiledMap::PrecompiledMap() { keeps_.fill(true); }

PrecompiledMap PrecompiledMap::parse(std::string_view blob) {
  constexpr std::size_t kUnit = sizeof(std::uint32_t);
  if (blob.size() < kUnit) fail(fmt::format("it has only {} bytes", blob.size()));
  const auto number = [&](std::size_t at) {
    std::uint32_t result = 0;
    for (std::size_t i = 0; i < kUnit; ++i)
      result |= std::uint32_t{static_cast<unsigned char>(blob[at + i])} << (8 * i);
    return result;
  };
  const std::size_t size = number(0);
  if (size == 0 || size % kUnit != 0 || size > blob.size() - kUnit) {
    fail(fmt::format(
        "the size of its double array is {} bytes, but {} bytes follow, and a unit has {} bytes",
        size, blob.size() - kUnit, kUnit));
  }
  PrecompiledMap map;
  map.units_.resize(size / kUnit);
  for (std::size_t i = 0; i < map.units_.size(); ++i) map.units_[i] = number(kUnit * (i + 1));
  map.replacements_ = blob.substr(kUnit + size);
  check_replacements(map.replacements_);
  for (std::size_t i = 0; i < map.units_.size(); ++i) {
    const std::uint32_t unit = map.units_[i];
    if ((unit & kLeaf) != 0 || !has_leaf(unit)) continue;
    const std::size_t leaf = i ^ offset(unit);
    if (leaf >= map.units_.size() || (map.units_[leaf] & kLeaf) == 0)
      fail(fmt::format("unit {} of its double array has no leaf, although its flag is set", i));
    const std::size_t begin = value(map.units_[leaf]);
    if (begin >= map.replacements_.size() ||
        (static_cast<unsigned char>(map.replacements_[begin]) & 0xC0) == 0x80) {
      fail(fmt::format("unit {} of its double array refers to byte {}, where no replacement starts",
                       i, begin));
    }
  }
  for (std::size_t c = 0; c < map.keeps_.size(); ++c) map.keeps_[c] = map.stays(c);
  return map;
}

bool PrecompiledMap::stays(std::size_t c) const {
  const std::size_t node = offset(units_[0]) ^ c;
  if (node >= units_.size() || label(units_[node]) != c) return true;
  if (has_leaf(units_[node])) return false;
  for (std::size_t next = 0; next < keeps_.size(); ++next) {
    const std::size_t child = node ^ offset(units_[node]) ^ next;
    if (child < units_.size() && label(units_[child]) == next) return false;
  }
  return true;
}

std::string_view PrecompiledMap::replacement(std::uint32_t offset) const {
  return std::string_view(replacements_.data() + offset);  // replacements are zero-terminated
}

template <class Visit>
void PrecompiledMap::visit_rules(std::string_view text, const Visit& visit) const {
  if (units_.empty()) return;
  std::size_t node = offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    node ^= byte;
    if (node >= units_.size()) return;
    const std::uint32_t unit = units_[node];
    if (label(unit) != byte) return;
    node ^= offset(unit);
    if (has_leaf(unit) && !visit(i + 1, value(units_[node]))) return;
  }
}

bool PrecompiledMap::has_rule_from(std::string_view text) const {
  if (units_.empty()) return false;
  std::size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return false;
    node ^= offset(units_[node]);
  }
  return true;
}

std::optional<PrecompiledMap::Rule> PrecompiledMap::longest(std::string_view text) const {
  std::optional<Rule> best;
  visit_rules(text, [&](std::size_t size, std::uint32_t offset) {
    best = Rule{size, replacement(offset)};
    return true;
  });
  return best;
}

std::optional<std::string_view> PrecompiledMap::shortest(std::string_view text) const {
  std::optional<std::string_view> found;
  visit_rules(text, [&](std::size_t, std::uint32_t offset) {
    found = replacement(offset);
    return false;
  });
  return found;
}

}  // namespace weft
