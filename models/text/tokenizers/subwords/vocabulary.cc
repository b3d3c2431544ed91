#include "weft/models/text/tokenizers/subwords/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/subwords/hash.h"

namespace weft {

Vocabulary::Vocabulary(const std::vector<std::pair<std::string_view, std::int32_t>>& pieces) {
  std::size_t bytes = 0;
  std::int32_t highest = -1;
  for (const auto& [piece, id] : pieces) {
    if (id < 0 || id > kHighestId) {
      throw FormatError(fmt::format("the piece '{}' has the id {}; valid ids are 0 to {}",
                                    excerpt(piece), id, kHighestId));
    }
    highest = std::max(highest, id);
    bytes += piece.size();
  }
  if (bytes >= kNone)
    throw FormatError("vocabularies whose pieces total 4 GiB or more are not supported");
  text_.reserve(bytes);
  const std::size_t ids = static_cast<std::size_t>(highest) + 1;
  begins_.assign(ids, kNone);
  sizes_.assign(ids, 0);
  slots_.assign(std::bit_ceil(std::max<std::size_t>(2 * pieces.size(), 8)), -1);
  for (const auto& [piece, id] : pieces) {
    const auto i = static_cast<std::size_t>(id);
    if (begins_[i] != kNone) {
      throw FormatError(fmt::format("the pieces '{}' and '{}' have the same id, {}",
                                    excerpt(this->piece(id)), excerpt(piece), id));
    }
    begins_[i] = static_cast<std::uint32_t>(text_.size());
    sizes_[i] = static_cast<std::uint32_t>(piece.size());
    text_ += piece;
    std::size_t slot = hash_bytes(piece) & (slots_.size() - 1);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
      if (this->piece(slots_[slot]) == piece) {
        throw FormatError(
            fmt::format("the piece '{}' has two ids, {} and {}", excerpt(piece), slots_[slot], id));
      }
    }
    slots_[slot] = id;
  }
}

std::int32_t Vocabulary::find(std::string_view piece) const {
  if (slots_.empty()) return -1;
  for (std::size_t slot = hash_bytes(piece) & (slots_.size() - 1); slots_[slot] >= 0;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (this->piece(slots_[slot]) == piece) return slots_[slot];
  }
  return -1;
}

}  // namespace weft
