// A bidirectional map between the pieces of a model and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A set of pieces and their ids. Ids need not be contiguous, so some may have no piece. Immutable.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Throws FormatError if an id is outside [0, kHighestId], if an id or a piece occurs twice, or
  /// if the pieces have 4 GiB or more in total.
  explicit Vocabulary(const std::vector<std::pair<std::string_view, std::int32_t>>& pieces);

  static constexpr std::int32_t kHighestId = (1 << 24) - 1;

  /// Returns the highest id plus one.
  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// Returns the id whose piece is exactly `piece`, or -1 if there is none.
  std::int32_t find(std::string_view piece) const;
  /// Returns the piece of an id in [0, size()), or an empty view if the id has no piece.
  std::string_view piece(std::int32_t id) const {
    const auto i = static_cast<std::size_t>(id);
    if (sizes_[i] == 0) return {};
    return std::string_view(text_).substr(begins_[i], sizes_[i]);
  }
  bool has(std::int32_t id) const {
    return id >= 0 && id < size() && begins_[static_cast<std::size_t>(id)] != kNone;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  std::string text_;                           // the concatenation of all pieces
  std::vector<std::uint32_t> begins_, sizes_;  // indexed by id
  std::vector<std::int32_t> slots_;            // a hash table of ids; -1 marks a free slot
};

}  // namespace weft
