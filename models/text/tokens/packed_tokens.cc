#include "weft/models/text/tokens/packed_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {

PackedTokens::PackedTokens(std::vector<TokenSetPart> sources, std::int64_t context)
    : sources_(std::move(sources)), context_(context) {
  if (context < 3)
    throw ArgumentError(fmt::format("a row needs at least 3 tokens, not {}", context));
  const Tokenizer& tokenizer = sources_[0].set.tokenizer();
  cls_ = tokenizer.cls_id();
  sep_ = tokenizer.sep_id();
  if (cls_ < 0 || sep_ < 0) throw ArgumentError("the tokenizer has no id for [CLS] or [SEP]");
  std::int64_t end = 0;
  for (const TokenSetPart& source : sources_.parts())
    ends_.push_back(end += (source.size + context - 2) / (context - 1));
}

std::vector<std::int32_t> PackedTokens::row_from(const TokenSetPart& source,
                                                 std::int64_t place) const {
  const TokenSet& set = source.set;
  const std::int64_t end_ids = set.end_id() >= 0 ? 1 : 0;  // end-of-text ids per document
  std::vector<std::int32_t> row = {cls_};
  row.reserve(static_cast<std::size_t>(context_));
  std::int64_t document = set.document_of(place);
  while (std::ssize(row) < context_) {
    const std::int64_t document_end = set.document_end(document).token;
    const std::int64_t end = std::min(document_end, source.end());
    const std::int64_t text_end = end == document_end ? end - end_ids : end;
    const auto taken =
        std::min(context_ - std::ssize(row), std::max<std::int64_t>(text_end - place, 0));
    const std::size_t at = row.size();
    row.resize(at + static_cast<std::size_t>(taken));
    set.read(place, std::span(row).subspan(at));
    if (std::ssize(row) < context_) row.push_back(sep_);
    // After the end of the source, continue at its beginning.
    place = end < source.end() ? end : source.begin;
    document = place == source.begin ? set.document_of(place) : document + 1;
  }
  return row;
}

std::vector<std::int32_t> PackedTokens::random(std::uint64_t seed, std::int64_t step,
                                               std::int64_t row) const {
  const RandomStream stream{stable_hash("packed_tokens", seed), 0,
                            static_cast<std::uint32_t>(step)};
  const PhiloxBlock block = stream.block(static_cast<std::uint64_t>(row));
  const TokenSetPart& source = sources_.at(uniform_double(block[2], block[3]));
  const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
  const std::int64_t place = source.begin + static_cast<std::int64_t>(uniform_below(
                                                bits, static_cast<std::uint64_t>(source.size)));
  const std::int64_t document = source.set.document_of(place);
  const std::int64_t begin =
      std::max(source.begin, document == 0 ? 0 : source.set.document_end(document - 1).token);
  const std::int64_t room = context_ - 1;
  return row_from(source, begin + (place - begin) / room * room);
}

std::vector<std::int32_t> PackedTokens::row(std::int64_t i) const {
  if (i < 0 || i >= rows())
    throw ArgumentError(fmt::format("row {} is outside [0, {})", i, rows()));
  const auto s =
      static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
  const std::int64_t first = i - (s == 0 ? 0 : ends_[s - 1]);
  return row_from(sources_[s], sources_[s].begin + first * (context_ - 1));
}

}  // namespace weft
