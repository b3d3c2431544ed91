// A text represented as word numbers, sentence by sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The words of a text and their counts, by descending count: the most frequent word has number 0.
/// Equally frequent words are sorted in byte order.
class WordCounts {
 public:
  WordCounts() = default;
  /// A word and its count.
  struct Entry {
    std::string word;
    std::int64_t count = 0;
  };
  /// Sorts the entries. Throws ArgumentError if a word is duplicated.
  explicit WordCounts(std::vector<Entry> entries);

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Word number `i` and its count.
  const std::string& word(std::int64_t i) const { return entries_[index(i)].word; }
  std::int64_t count(std::int64_t i) const { return entries_[index(i)].count; }
  /// Returns the number of a word, or -1 if it is unknown.
  std::int32_t find(std::string_view word) const;
  std::vector<std::string> words() const;

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// A text as word numbers.
struct WordText {
  WordCounts counts;
  std::vector<std::int32_t> words;  // of all sentences, without rare words
  std::vector<std::int64_t> ends;   // end of each sentence in `words`; no sentence is empty
  std::int64_t rare = 0;            // number of occurrences dropped as rare

  std::int64_t size() const { return static_cast<std::int64_t>(words.size()); }
};

/// Builds a WordText. Words are lower-case runs of letters and digits (words() of data/tfidf.h).
class WordTextBuilder {
 public:
  /// Adds the words of a sentence.
  void add_sentence(std::string_view sentence);
  /// Returns the text without words that occur fewer than `min_count` times, and clears the
  /// builder. Throws DataError if no word is left.
  WordText finish(std::int64_t min_count = 1);

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int32_t> words_;
  std::vector<std::int64_t> ends_;
};

}  // namespace weft
