#include "weft/models/generate/structured/position.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "weft/core/error.h"

namespace weft::structured {
namespace {

constexpr std::size_t kMostItems = 20'000;

}  // namespace

/// Follows calls and ends of rules until only states with an edge for a byte remain.
class Position::Closure {
 public:
  Closure(const Grammar& grammar, const Position& before)
      : grammar_(grammar),
        before_(before),
        old_frames_(static_cast<std::int32_t>(before.first_.size()) - 1) {}

  void add(std::int32_t state, std::int32_t frame) {
    visit({state, frame});
    while (!work_.empty()) {
      const Item item = work_.back();
      work_.pop_back();
      const GrammarState& from = grammar_.states[index(item.state)];
      for (const CallEdge& edge : from.calls) call(edge, item.frame);
      if (!from.is_end) continue;
      if (item.frame == 0) {
        is_end_ = true;
      } else if (item.frame < old_frames_) {  // a new frame would end an empty text: see finish()
        for (const Return& to : before_.returns(item.frame)) visit({to.state, to.frame});
      }
    }
  }

  /// Keeps the frames that the items need.
  Position position() && {
    Position result;
    result.is_end_ = is_end_;
    std::vector<std::int32_t> numbers(index(old_frames_) + frames_.size(), -1);
    std::vector<std::int32_t> kept = {0};
    numbers[0] = 0;
    const auto number = [&](std::int32_t frame) {
      if (numbers[index(frame)] < 0) {
        numbers[index(frame)] = static_cast<std::int32_t>(kept.size());
        kept.push_back(frame);
      }
      return numbers[index(frame)];
    };
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.state != b.state ? a.state < b.state : a.frame < b.frame;
    });
    for (Item& item : items_) item.frame = number(item.frame);
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.frame < b.frame; });
    result.items_ = std::move(items_);
    result.first_ = {0};
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::span<const Return> returns =
          kept[i] < old_frames_ ? before_.returns(kept[i])
                                : std::span<const Return>(frames_[index(kept[i] - old_frames_)].to);
      for (const Return& to : returns) result.returns_.push_back({to.state, number(to.frame)});
      result.first_.push_back(static_cast<std::int32_t>(result.returns_.size()));
    }
    return result;
  }

 private:
  struct Frame {
    std::int32_t rule;
    std::vector<Return> to;
  };

  void visit(Item item) {
    constexpr std::size_t kFew = 32;
    if (seen_.size() < kFew) {
      for (const Item& other : seen_) {
        if (other.state == item.state && other.frame == item.frame) return;
      }
    } else {
      const auto hash = [](const Item& i) {
        return static_cast<std::uint64_t>(i.state) << 32 | static_cast<std::uint32_t>(i.frame);
      };
      if (many_.empty()) {
        for (const Item& other : seen_) many_.insert(hash(other));
      }
      if (!many_.insert(hash(item)).second) return;
      if (seen_.size() == kMostItems) {
        throw DataError(
            "the constraint is too ambiguous: more than 20000 positions match the text; use fewer "
            "alternatives with the same beginning");
      }
    }
    seen_.push_back(item);
    work_.push_back(item);
    if (!grammar_.states[index(item.state)].bytes.empty()) items_.push_back(item);
  }

  void call(const CallEdge& edge, std::int32_t frame) {
    auto found = std::find_if(frames_.begin(), frames_.end(),
                              [&](const Frame& other) { return other.rule == edge.rule; });
    if (found == frames_.end()) {
      frames_.push_back({edge.rule, {}});
      found = frames_.end() - 1;
    }
    const auto same = [&](const Return& to) { return to.state == edge.to && to.frame == frame; };
    if (std::none_of(found->to.begin(), found->to.end(), same))
      found->to.push_back({edge.to, frame});
    visit({grammar_.rules[index(edge.rule)],
           old_frames_ + static_cast<std::int32_t>(found - frames_.begin())});
  }

  const Grammar& grammar_;
  const Position& before_;
  const std::int32_t old_frames_;
  bool is_end_ = false;
  std::vector<Item> seen_, work_, items_;
  std::unordered_set<std::uint64_t> many_;
  std::vector<Frame> frames_;  // the calls at this byte
};

Position::Position(const Grammar& grammar, std::span<const std::int32_t> states) {
  const Position before;
  Closure closure(grammar, before);
  for (const std::int32_t state : states) closure.add(state, 0);
  *this = std::move(closure).position();
}

Position Position::after(const Grammar& grammar, std::uint8_t byte) const {
  Closure closure(grammar, *this);
  for (const Item& item : items_) {
    for (const ByteEdge& edge : grammar.states[index(item.state)].bytes) {
      if (edge.first <= byte && byte <= edge.last) closure.add(edge.to, item.frame);
    }
  }
  return std::move(closure).position();
}

std::span<const Position::Return> Position::returns(std::int32_t frame) const {
  const auto first = index(first_[index(frame)]);
  return std::span(returns_).subspan(first, index(first_[index(frame) + 1]) - first);
}

std::vector<std::int32_t> Position::key() const {
  std::vector<std::int32_t> key = {is_end_ ? 1 : 0, static_cast<std::int32_t>(items_.size())};
  for (const Item& item : items_) key.insert(key.end(), {item.state, item.frame});
  key.insert(key.end(), first_.begin(), first_.end());
  for (const Return& to : returns_) key.insert(key.end(), {to.state, to.frame});
  return key;
}

}  // namespace weft::structured
