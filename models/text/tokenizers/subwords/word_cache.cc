#include "weft/models/text/tokenizers/subwords/word_cache.h"

#include "weft/models/text/tokenizers/subwords/hash.h"

namespace weft {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 16;
constexpr std::size_t kMaxWords = kSlots / 2;
constexpr std::size_t kMaxCached = 8 * kMaxWords;

}  // namespace

WordCache::WordCache() : entries_(kSlots) {}

bool WordCache::find(std::string_view word, std::span<const SubwordSpan>& pieces) {
  last_hash_ = hash_bytes(word);
  last_slot_ = last_hash_ & (kSlots - 1);
  for (; entries_[last_slot_].size > 0; last_slot_ = (last_slot_ + 1) & (kSlots - 1)) {
    const Entry& entry = entries_[last_slot_];
    if (entry.hash != last_hash_ || std::string_view(words_).substr(entry.word, entry.size) != word)
      continue;
    pieces = {pieces_.data() + entry.first, entry.count};
    return true;
  }
  return false;
}

void WordCache::keep(std::string_view word, std::span<const SubwordSpan> pieces) {
  if (known_ == kMaxWords || pieces_.size() > kMaxCached) {
    clear();
    last_slot_ = last_hash_ & (kSlots - 1);
  }
  entries_[last_slot_] = {last_hash_, static_cast<std::uint32_t>(words_.size()),
                          static_cast<std::uint32_t>(pieces_.size()),
                          static_cast<std::uint16_t>(word.size()),
                          static_cast<std::uint16_t>(pieces.size())};
  words_ += word;
  pieces_.insert(pieces_.end(), pieces.begin(), pieces.end());
  ++known_;
}

void WordCache::clear() {
  entries_.assign(kSlots, Entry());
  words_.clear();
  pieces_.clear();
  known_ = 0;
}

}  // namespace weft
