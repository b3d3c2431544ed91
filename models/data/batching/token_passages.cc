#include "weft/models/data/batching/token_passages.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "weft/core/error.h"

namespace weft {

TokenPassages::TokenPassages(std::vector<TokenSetPart> sources, std::int64_t tokens)
    : sources_(std::move(sources)), tokens_(tokens) {
  if (tokens < 2)
    throw ArgumentError(fmt::format("a passage needs at least 2 tokens, not {}", tokens));
  std::int64_t end = 0;
  for (const TokenSetPart& source : sources_.parts()) {
    if (read(source, source.begin).size() < 2) {
      throw DataError(fmt::format("{} has {} tokens in this part: a passage needs at least 2",
                                  source.set.path(), source.size));
    }
    ends_.push_back(end += (source.size + tokens - 1) / tokens);
  }
}

TokenIds TokenPassages::read(const TokenSetPart& source, std::int64_t place) const {
  TokenIds ids;
  std::vector<std::int32_t> part;
  while (place < source.end() && std::ssize(ids) < tokens_) {
    part.resize(
        static_cast<std::size_t>(std::min(tokens_ - std::ssize(ids), source.end() - place)));
    source.set.read(place, part);
    place += std::ssize(part);
    std::copy_if(part.begin(), part.end(), std::back_inserter(ids),
                 [end = source.set.end_id()](std::int32_t id) { return id != end; });
  }
  return ids;
}

std::vector<TokenIds> TokenPassages::passage(const TokenSetPart& source, std::int64_t place) const {
  // A passage near the end starts earlier so that it has full length, or at least 2 ids.
  place = std::min(place, std::max(source.begin, source.end() - tokens_));
  TokenIds ids = read(source, place);
  while (ids.size() < 2) ids = read(source, --place);
  return {std::move(ids)};
}

std::vector<TokenIds> TokenPassages::at(std::int64_t i) const {
  if (i < 0 || i >= count())
    throw ArgumentError(fmt::format("passage {} is outside [0, {})", i, count()));
  const auto s =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
  const std::int64_t first = i - (s == 0 ? 0 : ends_[s - 1]);
  return passage(sources_[s], sources_[s].begin + first * tokens_);
}

std::vector<std::int64_t> TokenPassages::cover() const {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count()));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

std::vector<TokenIds> TokenPassages::random(Rng& rng) const {
  const TokenSetPart& source = sources_.at(rng.uniform());
  return passage(source, source.begin + rng.below(source.size));
}

}  // namespace weft
