// The pairs of neighbours in words, counted and merged. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace weft {

/// Words as symbols, the number of every pair in them, and where it stands. A merge touches the
/// words that have the pair, nothing else.
class PairMerger {
 public:
  using Symbol = std::int32_t;
  struct Candidate {
    std::int64_t count = 0;
    Symbol left = 0, right = 0;
    std::uint32_t pair = 0;
    /// The most frequent first; of equals the one with the smallest ids.
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      return left != other.left ? left > other.left : right > other.right;
    }
  };

  /// Pairs rarer than `least` are never merged; pairs that make a piece of `longest` characters or
  /// more are not considered, but for those in words as they are added.
  PairMerger(std::int64_t least, std::optional<std::int64_t> longest);

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
  bool is_too_long(Symbol left, Symbol right) const;

  std::int64_t least_;
  std::optional<std::int64_t> longest_;
  // Every word: its size, its count in two halves, its symbols.
  std::vector<std::uint32_t> words_;
  std::vector<std::int64_t> lengths_;  // of symbols, in characters; empty where nobody asks

  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> slots_;  // a hash table: 1 + place in pairs_, 0 = free
  std::priority_queue<Candidate> queue_;

  Changes before_, behind_;  // of a symbol in front of what is merged, or behind it
  std::vector<Symbol> touched_before_, touched_behind_;
};

}  // namespace weft
