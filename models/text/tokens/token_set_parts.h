// Parts of token sets that are used for training or validation.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/text/tokens/source_shares.h"
#include "weft/models/text/tokens/token_set.h"

namespace WEFT_API weft {

/// A part of a set with its sampling weight relative to the other parts.
struct TokenSetPart {
  TokenSet set;
  std::int64_t begin = 0, size = 0;  // position of the first id, and number of ids
  double weight = 1;

  std::int64_t end() const { return begin + size; }
};

/// A list of parts. Immutable and thread-safe.
class TokenSetParts {
 public:
  /// Drops parts without ids. Throws DataError if no part is left.
  explicit TokenSetParts(std::vector<TokenSetPart> parts);

  std::int64_t tokens() const;
  /// The number of documents that are at least partly contained in a part.
  std::int64_t documents() const;
  const std::vector<TokenSetPart>& parts() const { return parts_; }
  const TokenSetPart& operator[](std::size_t i) const { return parts_[i]; }
  /// Returns the part that is selected by a uniform random number in [0, 1).
  const TokenSetPart& at(double uniform) const { return parts_[shares_.at(uniform)]; }

 private:
  std::vector<TokenSetPart> parts_;
  SourceShares shares_;
};

}  // namespace weft
