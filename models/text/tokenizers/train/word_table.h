// A table of words and their frequencies, which are the only information that trainers keep about a
// corpus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A hash table of words and their counts. Its memory usage grows with the number of distinct
/// words, not with the counts.
class WordTable {
 public:
  WordTable();
  void add(std::string_view word, std::int64_t count = 1);
  void add(const WordTable& other);

  std::size_t size() const { return entries_.size(); }
  std::string_view word(std::size_t i) const {
    return std::string_view(bytes_).substr(entries_[i].begin, entries_[i].size);
  }
  std::int64_t count(std::size_t i) const { return entries_[i].count; }

 private:
  struct Entry {
    std::uint64_t begin = 0;  // offset in bytes_
    std::uint32_t size = 0;
    std::uint32_t hash = 0;  // distinguishes most words without comparing their bytes
    std::int64_t count = 0;
  };
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // 1 + index in entries_; 0 marks a free slot
  std::string bytes_;
};

}  // namespace weft
