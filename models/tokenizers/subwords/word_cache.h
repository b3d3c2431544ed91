// A cache of segmented words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// Maps words to their pieces, for one thread. Words of more than kLongestWord bytes must not be
/// cached. A full cache is cleared.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;

  WordCache();
  /// Sets `pieces` to the pieces of `word`; returns false if it is not cached.
  bool find(std::string_view word, std::span<const SubwordSpan>& pieces);
  /// Stores the pieces of `word`, which must be the argument of the last find().
  void keep(std::string_view word, std::span<const SubwordSpan> pieces);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t word = 0, first = 0;  // indices in words_ and pieces_
    std::uint16_t size = 0, count = 0;  // number of bytes and pieces; size 0 = free
  };
  void clear();

  std::vector<Entry> entries_;
  std::string words_;
  std::vector<SubwordSpan> pieces_;
  std::size_t known_ = 0;
  std::uint64_t last_hash_ = 0;
  std::size_t last_slot_ = 0;
};

}  // namespace weft
