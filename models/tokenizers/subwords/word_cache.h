// Words that have been cut already.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// What words become, for one thread. Long words are not kept; when it is full, it begins anew.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 64;

  WordCache();
  /// The pieces of `word`, or nothing where it is not known.
  bool find(std::string_view word, std::span<const SubwordSpan>& pieces);
  /// Keeps what the word that was looked for last became.
  void keep(std::string_view word, std::span<const SubwordSpan> pieces);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t word = 0, first = 0;  // places in words_ and pieces_
    std::uint16_t size = 0, count = 0;  // bytes and pieces; no bytes: free
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
