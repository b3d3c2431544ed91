// Double-array tries (Aoe 1989).
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An element of the array. The child of a node for byte b is at index (base ^ b) and has label b.
/// No two nodes have the same base, so the label alone identifies the parent.
struct DoubleArrayNode {
  // Labels that do not represent bytes.
  static constexpr std::uint16_t kFree = 0x1FF;
  static constexpr std::uint16_t kRoot = 0x100;
  static constexpr std::uint16_t kLeaf = 0x101;

  std::uint32_t base = 0;  // 0 if the node has no children
  std::uint16_t label = kFree;
  std::int32_t value = -1;  // value of the string that ends here, or -1 if there is none
};

/// Builds the double array of `strings` and their values (0 or more). The root is at index 0, and
/// the size is a multiple of 256. Of several equal strings, only the first is used; an empty string
/// is ignored. If `leaves` is true, values are stored not in the nodes themselves but in their
/// children for byte 0, which have the label kLeaf. In this case, strings must not contain byte 0.
/// Throws DataError if more than `most` elements are needed.
std::vector<DoubleArrayNode> double_array(
    std::vector<std::pair<std::string_view, std::int32_t>> strings, bool leaves, std::size_t most);

}  // namespace weft
