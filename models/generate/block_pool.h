// The blocks of key and value caches: which are in use, and which contain the beginning of a text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// Counts the uses of blocks and finds blocks by their tokens. Blocks are indexed in a tree: the
/// keys and values of a block depend on all tokens before it, so that the place of a block is that
/// of the block before it, followed by its own ids. Ids are compared, not their hashes. Blocks that
/// are indexed but no longer in use are evicted when a block is needed, least recently used first.
/// Holds no keys and values. All operations take O(log(blocks)).
class BlockPool {
 public:
  /// A place in the index. Places are not reused.
  using Place = std::int64_t;
  static constexpr Place kBeginning = 0;  // before the first block of a text
  struct Entry {
    std::int64_t block = 0;
    Place place = kBeginning;  // after the block
  };

  explicit BlockPool(std::int64_t blocks);

  std::int64_t blocks() const { return std::ssize(states_); }
  /// Returns the number of blocks that take() can return, including indexed ones without uses.
  std::int64_t available() const { return std::ssize(free_) + std::ssize(evictable_); }
  /// Returns the number of indexed blocks without uses.
  std::int64_t evictable() const { return std::ssize(evictable_); }
  bool is_shared(std::int64_t block) const { return state(block).uses > 1; }

  /// Returns a block with one use. Throws StateError if none is available.
  std::int64_t take();
  /// Adds a use of a block that is in use or indexed.
  void share(std::int64_t block);
  /// Removes a use of a block.
  void release(std::int64_t block);

  /// Returns the block with these ids after `before`.
  std::optional<Entry> find(Place before, const TokenIds& ids) const;
  /// Adds a block in use to the index. If there is one with the same place and ids, returns it
  /// instead. The block must not be in the index.
  Entry insert(Place before, TokenIds ids, std::int64_t block);
  /// Removes a block in use from the index, because it will be overwritten. Has no effect if it is
  /// not in the index.
  void forget(std::int64_t block);

 private:
  using Index = std::map<std::pair<Place, TokenIds>, Entry>;
  struct State {
    std::int64_t uses = 0;
    std::int64_t released = 0;  // the time of the last release, while the block is evictable
    std::optional<Index::iterator> indexed;
  };
  const State& state(std::int64_t block) const { return states_[static_cast<std::size_t>(block)]; }
  State& state(std::int64_t block) { return states_[static_cast<std::size_t>(block)]; }

  std::vector<State> states_;
  std::vector<std::int64_t> free_;                  // neither in use nor indexed
  std::map<std::int64_t, std::int64_t> evictable_;  // by the time of their last release
  Index index_;
  std::int64_t time_ = 0;
  Place places_ = kBeginning;
};

}  // namespace weft
