// A trie that maps strings to ids, for prefix search in texts.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A set of strings, each with an id. Immutable. A traversal starts at kRoot and consumes one byte
/// per step.
class PieceTrie {
 public:
  static constexpr std::uint32_t kRoot = 0;
  static constexpr std::int32_t kNone = -1;

  struct Match {
    std::int32_t id = kNone;
    std::uint32_t size = 0;  // in bytes
  };

  PieceTrie() : PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>>()) {}
  /// Ids must be 0 or more. Of several equal strings, only the first is used; an empty string is
  /// never found. Throws DataError if the trie would have more than 2^23 nodes.
  explicit PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces);

  /// Moves `node` to its child for `byte`. Returns false if no string continues with this byte.
  bool step(std::uint32_t& node, unsigned char byte) const {
    const std::uint32_t next = (nodes_[node].base_and_label >> kLabelBits) ^ byte;
    if ((nodes_[next].base_and_label & kFree) != byte) return false;
    node = next;
    return true;
  }
  /// Returns the id of the string that ends at `node`, or kNone if there is none.
  std::int32_t id(std::uint32_t node) const { return nodes_[node].id; }

  /// Returns the longest string in the set that is a prefix of `text`.
  Match longest(std::string_view text) const;
  /// Returns the id of the string that equals `text`, or kNone if there is none.
  std::int32_t find(std::string_view text) const;

 private:
  static constexpr int kLabelBits = 9;
  static constexpr std::uint32_t kFree = (1U << kLabelBits) - 1;  // not a byte

  // A packed node of a double array (see double_array.h).
  struct Node {
    std::uint32_t base_and_label = kFree;
    std::int32_t id = kNone;
  };
  std::vector<Node> nodes_;
};

}  // namespace weft
