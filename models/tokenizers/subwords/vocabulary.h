// The pieces of a model by id, and the ids by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Strings with an id each. Ids need not follow each other: some may have no piece. Immutable.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Throws FormatError for ids below 0 or above kHighestId, for an id or a piece that occurs
  /// twice.
  explicit Vocabulary(const std::vector<std::pair<std::string_view, std::int32_t>>& pieces);

  static constexpr std::int32_t kHighestId = (1 << 24) - 1;

  /// One more than the highest id.
  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// -1 where no id stands for exactly `piece`.
  std::int32_t find(std::string_view piece) const;
  /// The piece of an id in [0, size()); empty where it has none.
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

  std::string text_;                           // all pieces
  std::vector<std::uint32_t> begins_, sizes_;  // by id
  std::vector<std::int32_t> slots_;            // a hash table of ids; -1: free
};

}  // namespace weft
