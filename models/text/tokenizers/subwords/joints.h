// The pairs of neighbouring symbols that merges of a BPE model can join.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/unicode/characters.h"

namespace WEFT_API weft {
namespace subwords {

/// A set of pairs of symbols, which are characters or bytes. A merge joins the last symbol of its
/// left piece with the first symbol of its right piece. If no merge joins two neighbouring symbols
/// of a word, then no piece extends across the border between them, and the text on both sides can
/// be segmented independently. In vocabularies of SentencePiece, for example, a blank never follows
/// another character within a piece.
class Joints {
 public:
  /// `joined` contains pairs that pair() returned.
  explicit Joints(std::vector<std::uint64_t> joined = {});

  static std::uint64_t pair(char32_t left, char32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | right;
  }
  bool has(char32_t left, char32_t right) const {
    return (left | right) < kSmall ? small_[left * kSmall + right] : has_large(left, right);
  }

 private:
  static constexpr char32_t kSmall = 256;

  bool has_large(char32_t left, char32_t right) const;

  std::bitset<kSmall * kSmall> small_;
  std::vector<std::uint64_t> slots_;  // a hash table; kFree marks a free slot
};

}  // namespace subwords
}  // namespace weft
