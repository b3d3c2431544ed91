// Parts of token files that something is learned from, or measured on.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/tokens/source_shares.h"
#include "weft/models/data/tokens/token_set.h"

namespace WEFT_API weft {

/// A part of a set, and how often it is drawn from, relative to others.
struct TokenSetPart {
  TokenSet set;
  std::int64_t begin = 0, size = 0;  // ids
  double weight = 1;

  std::int64_t end() const { return begin + size; }
};

/// For any number of threads.
class TokenSetParts {
 public:
  /// Those without ids are left out. Throws DataError where no part is left.
  explicit TokenSetParts(std::vector<TokenSetPart> parts);

  std::int64_t tokens() const;
  /// Whole ones and those that a part has some of.
  std::int64_t documents() const;
  const std::vector<TokenSetPart>& parts() const { return parts_; }
  const TokenSetPart& operator[](std::size_t i) const { return parts_[i]; }
  /// The part that a number in [0, 1) stands for.
  const TokenSetPart& at(double uniform) const { return parts_[shares_.at(uniform)]; }

 private:
  std::vector<TokenSetPart> parts_;
  SourceShares shares_;
};

}  // namespace weft
