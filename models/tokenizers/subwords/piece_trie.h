// Strings to ids, for the question which of them a text begins with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A set of strings with an id each. Immutable. A walk begins at kRoot and takes one byte at a
/// time.
class PieceTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;

  struct Match {
    std::int32_t id = kNone;
    std::uint32_t size = 0;  // in bytes
  };

  PieceTrie() : PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>>()) {}
  /// Ids are 0 or more. Of equal strings the first counts; an empty one is never found. Throws
  /// DataError where they take more than some 8 million nodes.
  explicit PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces);

  /// Moves `node` on by a byte; false where no string goes on so.
  bool step(std::uint32_t& node, unsigned char byte) const {
    const std::uint32_t next = (nodes_[node].base_and_label >> kLabelBits) ^ byte;
    if ((nodes_[next].base_and_label & kFree) != byte) return false;
    node = next;
    return true;
  }
  /// The id of the string that ends at `node`, or kNone.
  std::int32_t id(std::uint32_t node) const { return nodes_[node].id; }

  /// The longest string that `text` begins with.
  Match longest(std::string_view text) const;
  /// The id of exactly `text`, or kNone.
  std::int32_t find(std::string_view text) const;

 private:
  static constexpr int kLabelBits = 9;
  static constexpr std::uint32_t kFree = (1U << kLabelBits) - 1;  // no byte

  // A double array (double_array.h), packed.
  struct Node {
    std::uint32_t base_and_label = kFree;
    std::int32_t id = kNone;
  };
  std::vector<Node> nodes_;
};

}  // namespace weft
