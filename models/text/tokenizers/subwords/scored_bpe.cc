#include "weft/models/text/tokenizers/subwords/scored_bpe.h"

#include <algorithm>
#include <unordered_map>

#include "weft/models/text/unicode/utf8.h"

namespace weft {

/// A symbol: a part of the text that may still be merged with its neighbours.
struct ScoredBpe::Part {
  std::uint32_t begin, size;  // size is 0 after merging into the preceding symbol
  std::uint32_t before, after;
  std::int32_t id;
  bool frozen;
};

struct ScoredBpe::Work {
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  struct Candidate {
    float score;
    std::uint32_t left, right;
    std::uint32_t size;  // total size of both symbols; if it changed, the candidate is stale
    std::int32_t id;
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : left > other.left;
    }
  };

  std::string_view text;
  std::vector<Part> parts = {};
  std::vector<Candidate> queue = {};  // a heap
  // for each intermediate merge, the size of its left half
  std::unordered_map<std::string_view, std::uint32_t> steps = {};
};

ScoredBpe::ScoredBpe(const std::vector<Entry>& entries) {
  std::vector<std::pair<std::string_view, std::int32_t>> all, symbols;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const auto id = static_cast<std::int32_t>(i);
    if (entry.use != Use::none) all.emplace_back(entry.text, id);
    if (entry.use == Use::forced) symbols.emplace_back(entry.text, id);
    scores_.push_back(static_cast<float>(entry.score));
    is_step_.push_back(entry.use == Use::step);
  }
  trie_ = PieceTrie(std::move(all));
  symbols_ = PieceTrie(std::move(symbols));
}

void ScoredBpe::consider(Work& work, std::size_t left, std::size_t right) const {
  if (left == Work::kNone || right == Work::kNone) return;
  const Part& a = work.parts[left];
  const Part& b = work.parts[right];
  if (a.frozen || b.frozen) return;
  const std::uint32_t size = a.size + b.size;
  const std::string_view whole = work.text.substr(a.begin, size);
  const std::int32_t id = trie_.find(whole);
  if (id == PieceTrie::kNone) return;
  work.queue.push_back({scores_[static_cast<std::size_t>(id)], static_cast<std::uint32_t>(left),
                        static_cast<std::uint32_t>(right), size, id});
  std::push_heap(work.queue.begin(), work.queue.end());
  if (is_step_[static_cast<std::size_t>(id)]) work.steps[whole] = a.size;
}

// Appends a symbol to `out`. An intermediate merge that was not merged further is split into its
// halves again.
void ScoredBpe::put(const Work& work, const SubwordSpan& part,
                    std::vector<SubwordSpan>& out) const {
  if (work.steps.empty()) return out.push_back(part);
  std::vector<SubwordSpan> open = {part};
  while (!open.empty()) {
    const SubwordSpan next = open.back();
    open.pop_back();
    const std::string_view text = work.text.substr(next.begin, next.end - next.begin);
    const bool step = next.id >= 0 && is_step_[static_cast<std::size_t>(next.id)];
    const auto found = step ? work.steps.find(text) : work.steps.end();
    if (found == work.steps.end()) {
      out.push_back(next);
      continue;
    }
    const std::uint32_t middle = next.begin + found->second;
    const auto id = [&](std::uint32_t begin, std::uint32_t end) {
      return trie_.find(work.text.substr(begin, end - begin));
    };
    open.push_back({id(middle, next.end), middle, next.end});
    open.push_back({id(next.begin, middle), next.begin, middle});
  }
}

void ScoredBpe::segment(std::string_view text, std::vector<SubwordSpan>& out) const {
  if (text.empty()) return;
  Work work{.text = text};
  std::vector<Part>& parts = work.parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const PieceTrie::Match symbol = symbols_.longest(text.substr(begin));
    const bool frozen = symbol.size > 0;
    const std::size_t size = frozen ? symbol.size : character_size(text, begin);
    const std::int32_t id = frozen ? symbol.id : trie_.find(text.substr(begin, size));
    const auto index = static_cast<std::uint32_t>(parts.size());
    parts.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size), index - 1,
                     index + 1, id, frozen});
    begin += size;
  }
  parts.back().after = Work::kNone;  // parts.front().before is already kNone: 0 - 1 wraps
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) consider(work, i, i + 1);
  while (!work.queue.empty()) {
    const Work::Candidate best = work.queue.front();
    std::pop_heap(work.queue.begin(), work.queue.end());
    work.queue.pop_back();
    Part& left = parts[best.left];
    Part& right = parts[best.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.size = best.size;
    left.id = best.id;
    left.after = right.after;
    if (right.after != Work::kNone) parts[right.after].before = best.left;
    right.size = 0;
    consider(work, left.before, best.left);
    consider(work, best.left, left.after);
  }
  for (std::uint32_t i = 0; i != Work::kNone; i = parts[i].after)
    put(work, {parts[i].id, parts[i].begin, parts[i].begin + parts[i].size}, out);
}

}  // namespace weft
