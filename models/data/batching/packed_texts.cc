#include "weft/models/data/batching/packed_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {

PackedTexts::PackedTexts(const Tokenizer& tokenizer, std::span<const std::string> texts,
                         std::int64_t context)
    : cls_(tokenizer.cls_id()), sep_(tokenizer.sep_id()), context_(context) {
  if (context < 3)
    throw ArgumentError(fmt::format("a row needs at least 3 tokens, not {}", context));
  for (const std::string& text : texts) {
    std::vector<std::int32_t> ids = tokenizer.encode(text);
    if (ids.empty()) continue;
    tokens_ += static_cast<std::int64_t>(ids.size());
    texts_.push_back(std::move(ids));
  }
  if (texts_.empty()) throw DataError("there is no text to train on");
}

std::vector<std::int32_t> PackedTexts::row(std::int64_t first) const {
  std::vector<std::int32_t> row = {cls_};
  const auto size = static_cast<std::size_t>(context_);
  for (std::int64_t i = first; row.size() < size; ++i) {
    const auto& text = texts_[static_cast<std::size_t>(i % texts())];
    // A text may be far longer than a row.
    const auto room = static_cast<std::ptrdiff_t>(std::min(text.size(), size - row.size()));
    row.insert(row.end(), text.begin(), text.begin() + room);
    if (row.size() < size) row.push_back(sep_);
  }
  return row;
}

std::vector<std::int64_t> PackedTexts::cover() const {
  std::vector<std::int64_t> firsts;
  std::int64_t left = 0;
  for (std::int64_t i = 0; i < texts(); ++i) {
    if (left <= 0) {
      firsts.push_back(i);
      left = context_ - 1;
    }
    left -= static_cast<std::int64_t>(texts_[static_cast<std::size_t>(i)].size()) + 1;
  }
  return firsts;
}

}  // namespace weft
