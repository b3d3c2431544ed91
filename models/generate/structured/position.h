// The positions of one text within a grammar. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

/// All positions at which a text may be, as a graph-structured stack: calls of a rule at the same
/// byte share a frame, so that ambiguous grammars take polynomial instead of exponential memory
/// (Tomita, "Efficient Parsing for Natural Language", 1985). Frame 0 is the frame of the rule with
/// which the position began.
class Position {
 public:
  struct Item {  // a state with an edge for some byte, in a call of its rule
    std::int32_t state, frame;
  };
  struct Return {  // where a call continues: a state in the caller's frame
    std::int32_t state, frame;
  };

  Position() = default;
  /// The position before the first byte, in each of `states`, which belong to frame 0.
  Position(const Grammar& grammar, std::span<const std::int32_t> states);

  /// Returns the position after `byte`. Throws DataError if it has more than 20,000 items.
  Position after(const Grammar& grammar, std::uint8_t byte) const;

  /// The items in the order of frames, then states. Empty if no byte can follow.
  const std::vector<Item>& items() const { return items_; }
  std::span<const Return> returns(std::int32_t frame) const;
  /// Returns true if the rule of frame 0 may end here.
  bool is_end() const { return is_end_; }
  bool is_dead() const { return items_.empty() && !is_end_; }

  /// Equal positions have equal keys.
  std::vector<std::int32_t> key() const;

 private:
  class Closure;
  std::vector<Item> items_;
  std::vector<Return> returns_;
  std::vector<std::int32_t> first_ = {0, 0};  // the first return of each frame, and the last end
  bool is_end_ = false;
};

}  // namespace weft::structured
