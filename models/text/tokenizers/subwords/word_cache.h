// A cache for the segmentation of words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// Maps words to their pieces, for use by a single thread. Words with more than kLongestWord bytes
/// must not be cached. When the cache is full, it is cleared.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;

  WordCache();
  /// Sets `pieces` to the pieces of `word`. Returns false if the word is not in the cache.
  bool find(std::string_view word, std::span<const SubwordSpan>& pieces);
  /// Stores the pieces of `word`. The preceding call of find() must have been for the same word.
  void keep(std::string_view word, std::span<const SubwordSpan> pieces);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t word = 0, first = 0;  // indices in words_ and pieces_
    std::uint16_t size = 0, count = 0;  // number of bytes and pieces; size 0 marks a free slot
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
