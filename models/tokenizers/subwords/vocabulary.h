// A two-way mapping between the pieces of a model and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Strings with ids. The ids may have gaps, which have no piece. Immutable.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// Throws FormatError for ids outside [0, kHighestId], for a duplicate id or piece, and for 4 GiB
  /// of pieces or more.
  explicit Vocabulary(const std::vector<std::pair<std::string_view, std::int32_t>>& pieces);

  static constexpr std::int32_t kHighestId = (1 << 24) - 1;

  /// One more than the highest id.
  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()); }
  /// Returns the id of exactly `piece`, or -1.
  std::int32_t find(std::string_view piece) const;
  /// Returns the piece of an id in [0, size()); empty if it has none.
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

  std::string text_;                           // all pieces, concatenated
  std::vector<std::uint32_t> begins_, sizes_;  // by id
  std::vector<std::int32_t> slots_;            // a hash table of ids; -1 = free
};

}  // namespace weft
