#include "weft/models/generate/structured/token_masks.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::structured {
namespace {

constexpr std::int32_t kUnknown = -2, kDead = -1;
constexpr std::size_t kMostKnown = 16'384;     // about 20 MiB
constexpr std::size_t kMostBytes = 64u << 20;  // of parts
constexpr std::int64_t kMostWork = 4'000'000;  // items that are visited for one mask

}  // namespace

TokenMasks::TokenMasks(const Grammar& grammar, const TokenTrie& trie, std::int64_t vocab)
    : grammar_(grammar), trie_(trie), words_(static_cast<std::size_t>(vocab + 63) / 64) {}

std::size_t TokenMasks::KeyHash::operator()(const std::vector<std::int32_t>& key) const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, on 32-bit units
  for (const std::int32_t unit : key)
    hash = (hash ^ static_cast<std::uint32_t>(unit)) * 0x100000001b3;
  return hash ^ hash >> 32;
}

void TokenMasks::allow(const Position& position, std::span<std::uint64_t> mask) {
  work_ = 0;
  if (bytes_ > kMostBytes) {
    parts_.clear();
    bytes_ = 0;
  }
  const std::vector<Position::Item>& items = position.items();
  for (std::size_t i = 0; i < items.size();) {
    const std::int32_t frame = items[i].frame;
    std::vector<std::int32_t> states;
    for (; i < items.size() && items[i].frame == frame; ++i) states.push_back(items[i].state);
    std::unique_ptr<Part>& found = parts_[states];
    if (!found) {
      constexpr std::uint32_t kRoot[] = {0};
      found = part(states, kRoot);
    }
    apply(*found, position, frame, mask);
  }
}

void TokenMasks::apply(Part& part, const Position& position, std::int32_t frame,
                       std::span<std::uint64_t> mask) {
  spend(1);
  for (const std::int32_t id : part.ids) mask[index(id) / 64] |= std::uint64_t{1} << (id % 64);
  for (std::size_t i = 0; i < part.words.size(); ++i) mask[i] |= part.words[i];
  if (frame == 0 || part.exits.empty()) return;
  std::vector<Position::Return> returns(position.returns(frame).begin(),
                                        position.returns(frame).end());
  std::sort(returns.begin(), returns.end(), [](const auto& a, const auto& b) {
    return a.frame != b.frame ? a.frame < b.frame : a.state < b.state;
  });
  for (std::size_t i = 0; i < returns.size();) {
    const std::int32_t caller = returns[i].frame;
    std::vector<std::int32_t> states;
    for (; i < returns.size() && returns[i].frame == caller; ++i)
      states.push_back(returns[i].state);
    std::unique_ptr<Part>& found = part.next[states];
    if (!found) found = this->part(states, part.exits);
    apply(*found, position, caller, mask);
  }
}

std::unique_ptr<TokenMasks::Part> TokenMasks::part(std::span<const std::int32_t> states,
                                                   std::span<const std::uint32_t> nodes) {
  auto result = std::make_unique<Part>();
  const Position start(grammar_, states);
  std::vector<std::int32_t> path(trie_.depth + 1);  // the state after each byte
  for (const std::uint32_t node : nodes) {
    const TokenTrie::Node& top = trie_.nodes[node];
    path[top.depth] = known(start);
    // The call may end before the rest of the token. At the root, the position has the items after
    // that end already.
    if (start.is_end() && node != 0) result->exits.push_back(node);
    for (std::uint32_t n = node + 1; n < top.end;) {
      const TokenTrie::Node& at = trie_.nodes[n];
      std::int32_t state = known_[index(path[at.depth - 1])].next[at.byte];
      if (state == kUnknown)
        state = after(path[at.depth - 1], at.byte,
                      std::span(path).subspan(top.depth, at.depth - top.depth));
      if (state == kDead) {
        n = at.end;
        continue;
      }
      path[at.depth] = state;
      const std::uint32_t last = trie_.nodes[n + 1].ids;
      result->ids.insert(result->ids.end(), trie_.ids.begin() + at.ids, trie_.ids.begin() + last);
      const Position& position = known_[index(state)].position;
      if (position.is_end() && at.end > n + 1) result->exits.push_back(n);
      n = position.items().empty() ? at.end : n + 1;
    }
  }
  if (result->ids.size() > words_ * 2) {
    result->words.assign(words_, 0);
    for (const std::int32_t id : result->ids)
      result->words[index(id) / 64] |= std::uint64_t{1} << (id % 64);
    result->ids = {};
  }
  result->ids.shrink_to_fit();
  bytes_ += sizeof(Part) + 64 + result->ids.size() * sizeof(std::int32_t) +
            result->words.size() * sizeof(std::uint64_t) +
            result->exits.size() * sizeof(std::uint32_t);
  return result;
}

std::int32_t TokenMasks::known(Position position) {
  const auto [found, is_new] =
      known_by_key_.try_emplace(position.key(), static_cast<std::int32_t>(known_.size()));
  if (is_new) {
    known_.push_back({std::move(position), {}});
    known_.back().next.fill(kUnknown);
  }
  return found->second;
}

std::int32_t TokenMasks::after(std::int32_t state, std::uint8_t byte,
                               std::span<std::int32_t> path) {
  const Position& before = known_[index(state)].position;
  spend(8 + static_cast<std::int64_t>(before.items().size()));
  Position position = before.after(grammar_, byte);
  if (position.is_dead()) return known_[index(state)].next[byte] = kDead;
  if (known_.size() < kMostKnown) {
    const std::int32_t next = known(std::move(position));
    return known_[index(state)].next[byte] = next;
  }
  // Starts again with the states of the current path.
  std::vector<Position> kept;
  for (const std::int32_t old : path) kept.push_back(known_[index(old)].position);
  known_.clear();
  known_by_key_.clear();
  for (std::size_t i = 0; i < path.size(); ++i) path[i] = known(std::move(kept[i]));
  return known(std::move(position));
}

void TokenMasks::spend(std::int64_t work) {
  work_ += work;
  if (work_ > kMostWork) {
    throw DataError(
        "the constraint is too ambiguous to find the next tokens: use fewer alternatives and "
        "repetitions with the same beginning");
  }
}

}  // namespace weft::structured
