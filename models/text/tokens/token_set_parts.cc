#include "weft/models/text/tokens/token_set_parts.h"

#include <utility>

#include "weft/core/error.h"

namespace weft {

TokenSetParts::TokenSetParts(std::vector<TokenSetPart> parts) : parts_(std::move(parts)) {
  std::erase_if(parts_, [](const TokenSetPart& part) { return part.size == 0; });
  if (parts_.empty()) throw DataError("there is no text to train on");
  std::vector<double> weights;
  for (const TokenSetPart& part : parts_) weights.push_back(part.weight);
  shares_ = SourceShares(weights);
}

std::int64_t TokenSetParts::tokens() const {
  std::int64_t count = 0;
  for (const TokenSetPart& part : parts_) count += part.size;
  return count;
}

std::int64_t TokenSetParts::documents() const {
  std::int64_t count = 0;
  for (const TokenSetPart& part : parts_)
    count += 1 + part.set.document_of(part.end() - 1) - part.set.document_of(part.begin);
  return count;
}

}  // namespace weft
