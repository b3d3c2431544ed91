// Tries laid out in one array (Aoe 1989).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A place of the array. The child of a node for byte b is the place (base ^ b), whose label is b.
/// No two nodes have the same base, so that the label alone says whose child it is.
struct DoubleArrayNode {
  static constexpr std::uint16_t kFree = 0x1FF;  // labels that are no bytes
  static constexpr std::uint16_t kRoot = 0x100;
  static constexpr std::uint16_t kLeaf = 0x101;

  std::uint32_t base = 0;  // 0 = no children
  std::uint16_t label = kFree;
  std::int32_t value = -1;  // of the string that ends here; -1 = none does
};

/// The array of `strings` and their values (0 or more); the root is place 0, and there are whole
/// blocks of 256 places. Of equal strings the first counts, an empty one never. With `leaves` the
/// value is not at the node but at its child for byte 0, labelled kLeaf: strings must not have that
/// byte. Throws DataError for more than `most` places.
std::vector<DoubleArrayNode> double_array(
    std::vector<std::pair<std::string_view, std::int32_t>> strings, bool leaves, std::size_t most);

}  // namespace weft
