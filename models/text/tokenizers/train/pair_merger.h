// Counts and merges pairs of adjacent symbols in words. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Words as sequences of symbols, with an index of their pairs. For each pair, the index stores its
/// number of occurrences and the words that contain it, so that a merge visits only those words.
class PairMerger {
 public:
  using Symbol = std::int32_t;
  struct Candidate {
    std::int64_t count = 0;
    Symbol left = 0, right = 0;
    std::uint32_t pair = 0;
  };
  /// Orders candidates by their left ids, and then by their right ids.
  static bool has_smaller_ids(const Candidate& a, const Candidate& b) {
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  }

  /// Merge rules other than frequency. The defaults are those of Hugging Face's tokenizers library.
  class Rules {
   public:
    virtual ~Rules() = default;
    /// Returns true if two symbols may be merged. It is not called for pairs in the initial words.
    virtual bool may_merge(Symbol /*left*/, Symbol /*right*/) const { return true; }
    /// Returns true if `a` is merged before `b`, which has the same frequency.
    virtual bool goes_first(const Candidate& a, const Candidate& b) const {
      return has_smaller_ids(a, b);
    }
  };
  struct Settings {
    /// Pairs that occur fewer times than this are never merged.
    std::int64_t least = 1;
    /// The merge rules, or null for the default rules. They must outlive the merger.
    const Rules* rules = nullptr;
    /// Applies to a merged pair that reappears because a later merge produces one of its halves
    /// again. If true, its count restarts from zero. If false, its old count is kept, so that it is
    /// merged immediately, as in Hugging Face's tokenizers library.
    bool recounts_remade_pairs = false;
  };

  explicit PairMerger(const Settings& settings);

  /// Adds a word that occurs `count` times. Throws DataError if the words have more than about 2^32
  /// symbols in total.
  void add_word(std::span<const Symbol> symbols, std::int64_t count);
  /// Counts the pairs. Must be called once, after all words have been added. `symbols` is the
  /// number of symbols.
  void begin(std::size_t symbols);
  /// Returns the next pair to merge, or std::nullopt if no pair is frequent enough.
  std::optional<Candidate> best();
  /// Merges `pair`, which must be the result of best(), into `merged`, which must be an existing
  /// symbol or a new one (the next number).
  void merge(const Candidate& pair, Symbol merged);

 private:
  struct Pair {
    std::uint64_t key = 0;
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // words that contain or contained the pair
  };
  /// The effect of a merge on the pairs of a neighbouring symbol.
  struct Change {
    std::int64_t made = 0;  // number of new pairs with the merged symbol
    std::int64_t lost = 0;  // number of removed pairs with one of its two halves
    std::vector<std::uint32_t> words;
    bool touched = false;
  };
  using Changes = std::vector<Change>;

  static std::uint64_t key_of(Symbol left, Symbol right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::uint32_t pair_of(Symbol left, Symbol right);
  void grow();
  void push(std::uint32_t pair);
  Change& touch(Changes& changes, std::vector<Symbol>& touched, Symbol symbol);
  void merge_in(std::uint32_t word, const Candidate& pair, Symbol merged);
  void add_made(Symbol left, Symbol right, Change& change);
  void take_lost(Symbol left, Symbol right, std::int64_t count);
  bool may_merge(Symbol left, Symbol right) const {
    return settings_.rules == nullptr || settings_.rules->may_merge(left, right);
  }

  /// Orders a queue so that its top is the most frequent pair. The rules resolve ties.
  struct GoesLater {
    const Rules* rules;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.count != b.count) return a.count < b.count;
      return rules == nullptr ? has_smaller_ids(b, a) : rules->goes_first(b, a);
    }
  };

  Settings settings_;
  // For each word: its size, its count (as two 32-bit halves) and its symbols.
  std::vector<std::uint32_t> words_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> slots_;  // a hash table: 1 + index in pairs_; 0 marks a free slot
  std::priority_queue<Candidate, std::vector<Candidate>, GoesLater> queue_;

  Changes before_, after_;  // for symbols before and after the merged pair
  std::vector<Symbol> touched_before_, touched_after_;
};

}  // namespace weft
