// A text as numbers of words, sentence by sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The words of a text with how often they occur: the most frequent one has number 0, of equally
/// frequent ones the one that comes first in order of bytes.
class WordCounts {
 public:
  WordCounts() = default;
  /// A word, and how often it occurs.
  struct Entry {
    std::string word;
    std::int64_t count = 0;
  };
  /// Sorts the entries. Throws ArgumentError for a word that occurs twice.
  explicit WordCounts(std::vector<Entry> entries);

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Word `i` of the order of counts, and how often it occurs.
  const std::string& word(std::int64_t i) const { return entries_[index(i)].word; }
  std::int64_t count(std::int64_t i) const { return entries_[index(i)].count; }
  /// -1 for one that is not there.
  std::int32_t find(std::string_view word) const;
  std::vector<std::string> words() const;

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

/// A text as numbers of words.
struct WordText {
  WordCounts counts;
  std::vector<std::int32_t> words;  // of all sentences, without those that are too rare
  std::vector<std::int64_t> ends;   // of the sentences in `words`; none is empty
  std::int64_t rare = 0;            // occurrences that were left out

  std::int64_t size() const { return static_cast<std::int64_t>(words.size()); }
};

/// Collects a text. Words are runs of letters and digits, in lower case (words() of
/// data/tfidf.h).
class WordTextBuilder {
 public:
  /// Adds the words of a sentence.
  void add_sentence(std::string_view sentence);
  /// The text without words that occur fewer than `min_count` times. Throws DataError where none is
  /// left. The builder is empty afterwards.
  WordText finish(std::int64_t min_count = 1);

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int32_t> words_;
  std::vector<std::int64_t> ends_;
};

}  // namespace weft
