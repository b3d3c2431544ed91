// Words and how often each occurs: all that trainers keep of a corpus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A hash table of words. Its memory grows with the words that differ, whatever their number.
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
    std::uint64_t begin = 0;  // in bytes_
    std::uint32_t size = 0;
    std::uint32_t hash = 0;  // what tells most words apart without a look at them
    std::int64_t count = 0;
  };
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // 0: free, else 1 + place in entries_
  std::string bytes_;
};

}  // namespace weft
