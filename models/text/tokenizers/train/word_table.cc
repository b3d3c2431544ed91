#include "weft/models/text/tokenizers/train/word_table.h"

#include "weft/models/text/tokenizers/subwords/hash.h"

namespace weft {
namespace {

constexpr std::size_t kInitialSlots = 1024;

}  // namespace

WordTable::WordTable() : slots_(kInitialSlots, 0) {}

void WordTable::add(std::string_view word, std::int64_t count) {
  const auto hash = static_cast<std::uint32_t>(hash_bytes(word) >> 32);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && bytes_.compare(entry.begin, entry.size, word) == 0) {
      entry.count += count;
      return;
    }
  }
  entries_.push_back({bytes_.size(), static_cast<std::uint32_t>(word.size()), hash, count});
  bytes_ += word;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  if (2 * entries_.size() > slots_.size()) grow();
}

void WordTable::add(const WordTable& other) {
  for (std::size_t i = 0; i < other.size(); ++i) add(other.word(i), other.count(i));
}

void WordTable::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace weft
