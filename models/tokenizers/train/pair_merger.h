// The pairs of neighbours in words, counted and merged. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Words as symbols, the number of every pair in them, and where it stands. A merge touches the
/// words that have the pair, nothing else.
class PairMerger {
 public:
  using Symbol = std::int32_t;
  struct Candidate {
    std::int64_t count = 0;
    Symbol left = 0, right = 0;
    std::uint32_t pair = 0;
  };
  static bool has_smaller_ids(const Candidate& a, const Candidate& b) {
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  }

  /// What pairs there are, beside how frequent they are. As they stand here: Hugging Face's.
  class Rules {
   public:
    virtual ~Rules() = default;
    /// Whether two symbols may be one. Not asked of neighbours in words as they are added.
    virtual bool may_merge(Symbol /*left*/, Symbol /*right*/) const { return true; }
    /// Whether `a` is merged before `b`, which is as frequent.
    virtual bool goes_first(const Candidate& a, const Candidate& b) const {
      return has_smaller_ids(a, b);
    }
  };
  struct Settings {
    /// Rarer pairs are never merged.
    std::int64_t least = 1;
    /// null: those that stand there. It must outlive the merger.
    const Rules* rules = nullptr;
    /// A pair that was merged, and comes up again because another merge makes one of its halves
    /// anew, is counted anew. Else its count stays, and it is merged at once: so it is in Hugging
    /// Face's library.
    bool counts_anew = false;
  };

  explicit PairMerger(const Settings& settings);

  /// Throws DataError where there are too many.
  void add_word(std::span<const Symbol> symbols, std::int64_t count);
  /// Counts pairs: all words are there.
  void begin(std::size_t symbols);
  /// The next pair to merge; none where no pair is frequent enough any more.
  std::optional<Candidate> best();
  /// Merges it to `merged`: a new symbol (the next number), or one that is there.
  void merge(const Candidate& pair, Symbol merged);

 private:
  struct Pair {
    std::uint64_t key = 0;
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // that have it, or have lost it
  };
  /// What a merge changes for the pairs that a symbol is in, by that symbol.
  struct Change {
    std::int64_t made = 0;  // with the merged one
    std::int64_t lost = 0;  // with one of the two
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

  /// For a queue whose top is the most frequent one, and the first of those.
  struct GoesLater {
    const Rules* rules;
    bool operator()(const Candidate& a, const Candidate& b) const {
      if (a.count != b.count) return a.count < b.count;
      return rules == nullptr ? has_smaller_ids(b, a) : rules->goes_first(b, a);
    }
  };

  Settings settings_;
  // Every word: its size, its count in two halves, its symbols.
  std::vector<std::uint32_t> words_;
  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> slots_;  // a hash table: 1 + place in pairs_, 0 = free
  std::priority_queue<Candidate, std::vector<Candidate>, GoesLater> queue_;

  Changes before_, behind_;  // of a symbol in front of what is merged, or behind it
  std::vector<Symbol> touched_before_, touched_behind_;
};

}  // namespace weft
