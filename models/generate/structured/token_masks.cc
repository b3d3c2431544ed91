#include "weft/models/generate/structured/token_masks.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft::structured {
namespace {

constexpr std::int32_t kUnknown = -2, kDead = -1, kFull = -3;
constexpr std::int32_t kMostPlain = 64;        // characters
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
  std::int32_t first = known(start);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;  // of trie_.ids
  std::size_t count = 0;
  const auto allow = [&](std::uint32_t begin, std::uint32_t end) {
    if (begin == end) return;
    count += end - begin;
    if (!ranges.empty() && ranges.back().second == begin) {
      ranges.back().second = end;
    } else {
      ranges.emplace_back(begin, end);
    }
  };
  for (const std::uint32_t node : nodes) {
    const TokenTrie::Node& top = trie_.nodes[node];
    path[top.depth] = first;
    // The call may end before the rest of the token. At the root, the position has the items after
    // that end already.
    if (start.is_end() && node != 0) result->exits.push_back(node);
    for (std::uint32_t n = node + 1; n < top.end;) {
      const TokenTrie::Node& at = trie_.nodes[n];
      std::int32_t state = known_[index(path[at.depth - 1])].next[at.byte];
      if (state == kUnknown) {
        state = after_or_restart(path[at.depth - 1], at.byte,
                                 std::span(path).subspan(top.depth, at.depth - top.depth));
      }
      if (state == kDead) {
        n = at.end;
        continue;
      }
      path[at.depth] = state;
      const bool is_leaf = at.end == n + 1, is_end = known_[index(state)].is_end;
      if (!is_leaf && at.plain != TokenTrie::kNotPlain && at.plain <= plain_characters(state)) {
        allow(at.ids, trie_.nodes[at.end].ids);
        n = at.end;
        continue;
      }
      allow(at.ids, trie_.nodes[n + 1].ids);
      if (is_end && !is_leaf) result->exits.push_back(n);
      n = known_[index(state)].has_items ? n + 1 : at.end;
    }
    first = path[top.depth];
  }
  const bool is_dense = count > words_ * 2;
  if (is_dense) {
    result->words.assign(words_, 0);
  } else {
    result->ids.reserve(count);
  }
  for (const auto& [begin, end] : ranges) {
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::int32_t id = trie_.ids[i];
      if (is_dense) {
        result->words[index(id) / 64] |= std::uint64_t{1} << (id % 64);
      } else {
        result->ids.push_back(id);
      }
    }
  }
  bytes_ += sizeof(Part) + 64 + result->ids.size() * sizeof(std::int32_t) +
            result->words.size() * sizeof(std::uint64_t) +
            result->exits.size() * sizeof(std::uint32_t);
  return result;
}

std::int32_t TokenMasks::known(Position position) {
  const auto [found, is_new] =
      known_by_key_.try_emplace(position.key(), static_cast<std::int32_t>(known_.size()));
  if (is_new) {
    const bool is_end = position.is_end(), has_items = !position.items().empty();
    known_.push_back({std::move(position), {}, kUnknown, kUnknown, is_end, has_items});
    known_.back().next.fill(kUnknown);
  }
  return found->second;
}

/// Returns kDead if `byte` cannot follow, and kFull if there is no room for another state.
std::int32_t TokenMasks::after(std::int32_t state, std::uint8_t byte) {
  if (const std::int32_t next = known_[index(state)].next[byte]; next != kUnknown) return next;
  if (known_.size() >= kMostKnown) return kFull;
  const Position& before = known_[index(state)].position;
  spend(8 + static_cast<std::int64_t>(before.items().size()));
  // All bytes between the same borders of edges lead to the same state.
  std::size_t first = 0, end = 256;
  for (const Position::Item& item : before.items()) {
    for (const ByteEdge& edge : grammar_.states[index(item.state)].bytes) {
      for (const std::size_t border : {std::size_t{edge.first}, edge.last + std::size_t{1}}) {
        if (border <= byte) first = std::max(first, border);
        if (border > byte) end = std::min(end, border);
      }
    }
  }
  Position position = before.after(grammar_, byte);
  const std::int32_t next = position.is_dead() ? kDead : known(std::move(position));
  std::array<std::int32_t, 256>& list = known_[index(state)].next;
  std::fill(list.begin() + static_cast<std::ptrdiff_t>(first),
            list.begin() + static_cast<std::ptrdiff_t>(end), next);
  return next;
}

/// Starts again with the states of `path`, which ends with `state`, if there is no room.
std::int32_t TokenMasks::after_or_restart(std::int32_t state, std::uint8_t byte,
                                          std::span<std::int32_t> path) {
  if (const std::int32_t next = after(state, byte); next != kFull) return next;
  std::vector<Position> kept;
  for (const std::int32_t old : path) kept.push_back(known_[index(old)].position);
  known_.clear();
  known_by_key_.clear();
  for (std::size_t i = 0; i < path.size(); ++i) path[i] = known(std::move(kept[i]));
  return after(path.back(), byte);
}

/// Returns the state to which every plain character leads, if there is one.
std::int32_t TokenMasks::after_plain(std::int32_t state) {
  if (known_[index(state)].after_plain != kUnknown) return known_[index(state)].after_plain;
  known_[index(state)].after_plain = kDead;
  std::int32_t result = kUnknown;
  // States within a character, and the number of its bytes that are still to come.
  struct Inside {
    std::int32_t state;
    int left;
    std::uint8_t first, last;  // the next byte
  };
  std::vector<Inside> work;
  const auto read = [&](std::int32_t from, std::size_t first, std::size_t last, int left,
                        std::uint8_t next_first, std::uint8_t next_last) {
    for (std::size_t byte = first; byte <= last; ++byte) {
      const std::int32_t to = after(from, static_cast<std::uint8_t>(byte));
      if (to < 0) return false;
      if (left > 0) {
        const auto same = [&](const Inside& other) {
          return other.state == to && other.left == left && other.first == next_first &&
                 other.last == next_last;
        };
        if (std::none_of(work.begin(), work.end(), same))
          work.push_back({to, left, next_first, next_last});
      } else if (result == kUnknown || result == to) {
        result = to;
      } else {
        return false;
      }
    }
    return true;
  };
  // Table 3-7 of the Unicode standard: lead bytes, the bytes after them, and the second byte.
  struct Lead {
    std::uint8_t first, last;
    int left;
    std::uint8_t second_first, second_last;
  };
  constexpr Lead kLeads[] = {
      {' ', '!', 0, 0, 0},         {'#', '[', 0, 0, 0},         {']', '~', 0, 0, 0},
      {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF}, {0xE1, 0xE1, 2, 0x80, 0xBF},
      {0xE2, 0xE2, 2, 0x81, 0xBF}, {0xE3, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F},
      {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF},
      {0xF4, 0xF4, 3, 0x80, 0x8F}};
  for (const Lead& lead : kLeads) {
    if (!read(state, lead.first, lead.last, lead.left, lead.second_first, lead.second_last))
      return kDead;
  }
  // U+2000 .. U+203F begin with E2 80. Two of them are not plain.
  const std::int32_t lead = after(state, 0xE2);
  const std::int32_t second = lead < 0 ? kDead : after(lead, 0x80);
  if (second < 0 || !read(second, 0x80, 0xA7, 0, 0, 0) || !read(second, 0xAA, 0xBF, 0, 0, 0))
    return kDead;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Inside inside = work[i];
    if (!read(inside.state, inside.first, inside.last, inside.left - 1, 0x80, 0xBF)) return kDead;
  }
  return known_[index(state)].after_plain = result;
}

/// Returns a number of plain characters that may follow, whichever they are. At most kMostPlain, or
/// more than any token has.
std::int32_t TokenMasks::plain_characters(std::int32_t state) {
  if (known_[index(state)].plain != kUnknown) return known_[index(state)].plain;
  std::int32_t count = 0;
  for (std::int32_t at = state; count < kMostPlain; ++count) {
    const std::int32_t next = after_plain(at);
    if (next == kDead) break;
    if (next == at) {
      count = TokenTrie::kNotPlain;
      break;
    }
    at = next;
  }
  return known_[index(state)].plain = count;
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
