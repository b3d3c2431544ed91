#include "weft/models/text/tokenizers/train/pair_merger.h"

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/subwords/hash.h"

namespace weft {
namespace {

constexpr std::uint64_t kMixer = 0x9E3779B97F4A7C15U;
constexpr std::size_t kFirstSlots = std::size_t{1} << 16;
constexpr std::size_t kHead = 3;  // header size of a word in words_

std::int64_t count_of(const std::uint32_t* word) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(word[2]) << 32 | word[1]);
}

/// Appends `word` unless it is already the last element.
void note(std::vector<std::uint32_t>& words, std::uint32_t word) {
  if (words.empty() || words.back() != word) words.push_back(word);
}

}  // namespace

PairMerger::PairMerger(const Settings& settings)
    : settings_(settings), slots_(kFirstSlots, 0), queue_(GoesLater{settings.rules}) {
  settings_.least = std::max<std::int64_t>(settings_.least, 1);
}

void PairMerger::add_word(std::span<const Symbol> symbols, std::int64_t count) {
  if (symbols.size() < 2) return;
  if (words_.size() + kHead + symbols.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError("the distinct words have more than 2^32 characters");
  words_.push_back(static_cast<std::uint32_t>(symbols.size()));
  words_.push_back(static_cast<std::uint32_t>(count));
  words_.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(count) >> 32));
  words_.insert(words_.end(), symbols.begin(), symbols.end());
}

void PairMerger::begin(std::size_t symbols) {
  for (std::size_t at = 0; at < words_.size();) {
    const std::uint32_t* const word = words_.data() + at;
    const std::size_t size = word[0];
    for (std::size_t i = 0; i + 1 < size; ++i) {
      Pair& pair = pairs_[pair_of(static_cast<Symbol>(word[kHead + i]),
                                  static_cast<Symbol>(word[kHead + i + 1]))];
      pair.count += count_of(word);
      note(pair.words, static_cast<std::uint32_t>(at));
    }
    at += kHead + size;
  }
  for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) push(pair);
  before_.resize(symbols);
  after_.resize(symbols);
}

std::uint32_t PairMerger::pair_of(Symbol left, Symbol right) {
  const std::uint64_t key = key_of(left, right);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = mix(key, kMixer) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask)
    if (pairs_[slots_[slot] - 1].key == key) return slots_[slot] - 1;
  pairs_.push_back({key, 0, {}});
  slots_[slot] = static_cast<std::uint32_t>(pairs_.size());
  if (2 * pairs_.size() > slots_.size()) grow();
  return static_cast<std::uint32_t>(pairs_.size() - 1);
}

void PairMerger::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    std::size_t slot = mix(pairs_[i].key, kMixer) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void PairMerger::push(std::uint32_t pair) {
  const Pair& found = pairs_[pair];
  if (found.count < settings_.least) return;
  queue_.push({found.count, static_cast<Symbol>(found.key >> 32),
               static_cast<Symbol>(found.key & 0xFFFFFFFFU), pair});
}

std::optional<PairMerger::Candidate> PairMerger::best() {
  while (!queue_.empty()) {
    const Candidate top = queue_.top();
    queue_.pop();
    const Pair& pair = pairs_[top.pair];
    if (pair.words.empty()) continue;  // already merged
    if (pair.count == top.count) return top;
    push(top.pair);  // the entry was outdated: decreases are not pushed immediately
  }
  return std::nullopt;
}

PairMerger::Change& PairMerger::touch(Changes& changes, std::vector<Symbol>& touched,
                                      Symbol symbol) {
  Change& change = changes[static_cast<std::size_t>(symbol)];
  if (!change.touched) {
    change.touched = true;
    touched.push_back(symbol);
  }
  return change;
}

void PairMerger::merge_in(std::uint32_t at, const Candidate& pair, Symbol merged) {
  std::uint32_t* const word = words_.data() + at;
  std::uint32_t* const symbols = word + kHead;
  const std::size_t size = word[0];
  const std::int64_t count = count_of(word);
  const auto left = static_cast<std::uint32_t>(pair.left);
  const auto right = static_cast<std::uint32_t>(pair.right);
  std::size_t kept = 0, i = 0;
  while (i + 1 < size && !(symbols[i] == left && symbols[i + 1] == right)) ++i;
  if (i + 1 >= size) return;
  for (kept = i; i < size; ++kept) {
    if (symbols[i] != left || i + 1 == size || symbols[i + 1] != right) {
      symbols[kept] = symbols[i++];
      continue;
    }
    if (kept > 0) {
      Change& change = touch(before_, touched_before_, static_cast<Symbol>(symbols[kept - 1]));
      change.lost += count;
      change.made += count;
      note(change.words, at);
    }
    if (i + 2 < size) {
      Change& change = touch(after_, touched_after_, static_cast<Symbol>(symbols[i + 2]));
      change.lost += count;
      change.made += count;
      note(change.words, at);
    }
    symbols[kept] = static_cast<std::uint32_t>(merged);
    i += 2;
  }
  word[0] = static_cast<std::uint32_t>(kept);
  // The gap after the shortened word remains, because words are identified by their offsets.
}

void PairMerger::take_lost(Symbol left, Symbol right, std::int64_t count) {
  pairs_[pair_of(left, right)].count -= count;
}

void PairMerger::add_made(Symbol left, Symbol right, Change& change) {
  const std::uint32_t number = pair_of(left, right);
  Pair& pair = pairs_[number];
  pair.count += change.made;
  if (pair.words.empty()) {
    pair.words = std::move(change.words);
  } else {
    pair.words.insert(pair.words.end(), change.words.begin(), change.words.end());
  }
}

void PairMerger::merge(const Candidate& pair, Symbol merged) {
  if (static_cast<std::size_t>(merged) >= before_.size()) {
    before_.resize(static_cast<std::size_t>(merged) + 1);
    after_.resize(before_.size());
  }
  const std::vector<std::uint32_t> words = std::move(pairs_[pair.pair].words);
  pairs_[pair.pair].words.clear();
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Words are accessed in random order. Without prefetching, memory latency would dominate.
    constexpr std::size_t kAhead = 8;
    if (i + kAhead < words.size()) __builtin_prefetch(words_.data() + words[i + kAhead]);
    merge_in(words[i], pair, merged);
  }
  // Update all counts before updating the queue, because both sides may change the same pair.
  for (const Symbol symbol : touched_before_) {
    Change& change = before_[static_cast<std::size_t>(symbol)];
    take_lost(symbol, pair.left, change.lost);
    if (may_merge(symbol, merged)) add_made(symbol, merged, change);
  }
  for (const Symbol symbol : touched_after_) {
    Change& change = after_[static_cast<std::size_t>(symbol)];
    take_lost(pair.right, symbol, change.lost);
    if (may_merge(merged, symbol)) add_made(merged, symbol, change);
  }
  if (settings_.recounts_remade_pairs) pairs_[pair.pair].count = 0;
  for (const Symbol symbol : touched_before_) {
    if (may_merge(symbol, merged)) push(pair_of(symbol, merged));
    before_[static_cast<std::size_t>(symbol)] = {};
  }
  for (const Symbol symbol : touched_after_) {
    if (may_merge(merged, symbol)) push(pair_of(merged, symbol));
    after_[static_cast<std::size_t>(symbol)] = {};
  }
  touched_before_.clear();
  touched_after_.clear();
}

}  // namespace weft
