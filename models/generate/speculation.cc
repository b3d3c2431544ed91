#include "weft/models/generate/speculation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/models/generate/next_id.h"
#include "weft/models/generate/window_caches.h"

namespace weft {
namespace {

/// After this many steps without an accepted id, a text pauses, each time for longer.
constexpr std::int64_t kPatience = 2, kLongestPause = 32;

TokenIds looked_up(const TokenIds& ids, std::int64_t most) {
  const std::int64_t length = std::ssize(ids);
  const auto at = [&](std::int64_t i) { return ids[static_cast<std::size_t>(i)]; };
  std::int64_t best = 0, best_end = 0;
  // `end` is the place after an earlier occurrence of the last ids.
  for (std::int64_t end = length - 1; end >= PromptLookup::kShortest; --end) {
    std::int64_t same = 0;
    while (same < std::min(end, PromptLookup::kLongest) &&
           at(end - 1 - same) == at(length - 1 - same))
      ++same;
    if (same > best) best = same, best_end = end;
    if (best == PromptLookup::kLongest) break;
  }
  if (best < PromptLookup::kShortest) return {};
  TokenIds result;
  // Beyond its end, the text continues with the proposals, so that repetitions continue.
  for (std::int64_t i = best_end; std::ssize(result) < most; ++i)
    result.push_back(i < length ? at(i) : result[static_cast<std::size_t>(i - length)]);
  return result;
}

std::vector<float> row_of(const Tensor& logits, std::size_t row) {
  const auto width = static_cast<std::size_t>(logits.size(1));
  const auto values = logits.span<float>().subspan(row * width, width);
  return {values.begin(), values.end()};
}

/// A text with proposed ids.
struct Continued {
  TokenIds ids;
  std::optional<ConstraintState> constraint;
};

/// Continues a text with the id that its options choose. Returns false if it ends there, or if they
/// allow no id. `logits` are those of the draft model.
bool extend(const SpeculatedText& text, Continued& to, std::vector<float> logits,
            std::int64_t vocab) {
  // Ids of the model that the draft model lacks are impossible, and the others do not exist.
  logits.resize(static_cast<std::size_t>(vocab), static_cast<float>(kForbidden));
  ConstraintState* const constraint = to.constraint ? &*to.constraint : nullptr;
  std::vector<double> scores;
  try {
    to.ids.push_back(
        next_id(text.options, text.lengths, to.ids, 0, "the draft", logits, scores, -1, constraint)
            .token.id);
  } catch (const DataError&) {
    return false;
  }
  return !finish_of(text.options, text.lengths, to.ids, constraint);
}

}  // namespace

std::vector<TokenIds> PromptLookup::propose(std::span<const SpeculatedText> texts) {
  std::vector<TokenIds> result;
  for (const SpeculatedText& text : texts) result.push_back(looked_up(text.ids, text.most));
  return result;
}

DraftModel::Draft* DraftModel::in_step(const SpeculatedText& text) {
  const std::int64_t length = std::ssize(text.ids);
  // The last id is processed again if necessary, for the logits after it.
  std::int64_t kept = 0;
  const auto found = drafts_.find(text.number);
  if (found != drafts_.end()) {
    const TokenIds& ids = found->second.ids;
    kept = std::min(
        std::mismatch(ids.begin(), ids.end(), text.ids.begin(), text.ids.end()).first - ids.begin(),
        length - 1);
  }
  const auto is_unknown = [&](std::int64_t id) { return id >= config_.vocab; };
  if (length + text.most > slots_.options().capacity ||
      std::any_of(text.ids.begin() + kept, text.ids.end(), is_unknown)) {
    drop(text.number);
    return nullptr;
  }
  if (found != drafts_.end() && !changes_rotation(config_, kept, length + text.most)) {
    slots_.truncate(found->second.slot, kept);
    found->second.ids.resize(static_cast<std::size_t>(kept));
    return &found->second;
  }
  drop(text.number);
  if (slots_.free_slots() == 0) return nullptr;
  const auto [slot, reused] = slots_.add(text.ids);
  return &drafts_.emplace(text.number, Draft{slot, {text.ids.begin(), text.ids.begin() + reused}})
              .first->second;
}

std::vector<TokenIds> DraftModel::propose(std::span<const SpeculatedText> texts) {
  std::vector<Continued> continued(texts.size());
  std::vector<Draft*> drafts(texts.size());
  std::vector<SlotTokens> tokens;
  std::vector<std::size_t> active;  // the texts that get another id, in the order of the logits
  std::int64_t room = slots_.options().chunk, blocks = slots_.free_blocks();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SpeculatedText& text = texts[i];
    continued[i].ids = text.ids;
    if (text.most == 0 || room == 0 || (drafts[i] = in_step(text)) == nullptr) continue;
    Draft& draft = *drafts[i];
    const std::int64_t missing = std::ssize(text.ids) - std::ssize(draft.ids);
    const std::int64_t count = std::min(missing, room);
    const bool whole = count == missing;
    const std::int64_t needed = slots_.blocks_needed(draft.slot, count + (whole ? text.most : 0));
    if (needed > blocks) continue;
    room -= count, blocks -= needed;
    const auto first = text.ids.begin() + std::ssize(draft.ids);
    tokens.push_back({draft.slot, {first, first + count}, whole ? 1 : 0, std::ssize(text.ids)});
    draft.ids.insert(draft.ids.end(), first, first + count);
    if (whole) active.push_back(i);
    if (text.constraint != nullptr) continued[i].constraint.emplace(*text.constraint);
  }
  while (!tokens.empty()) {
    const Tensor logits = slots_.step(tokens);
    tokens.clear();
    const std::vector<std::size_t> stepped = std::exchange(active, {});
    for (std::size_t row = 0; row < stepped.size(); ++row) {
      const std::size_t i = stepped[row];
      TokenIds& ids = continued[i].ids;
      const bool goes_on = extend(texts[i], continued[i], row_of(logits, row), vocab_);
      const std::int64_t proposed = std::ssize(ids) - std::ssize(texts[i].ids);
      if (!goes_on || proposed == texts[i].most || ids.back() >= config_.vocab) continue;
      active.push_back(i);
      tokens.push_back({drafts[i]->slot, {ids.back()}});
      drafts[i]->ids.push_back(ids.back());
    }
  }
  std::vector<TokenIds> result;
  for (std::size_t i = 0; i < texts.size(); ++i)
    result.emplace_back(continued[i].ids.begin() + std::ssize(texts[i].ids),
                        continued[i].ids.end());
  return result;
}

void DraftModel::drop(std::int64_t number) {
  const auto found = drafts_.find(number);
  if (found == drafts_.end()) return;
  slots_.drop(found->second.slot);
  drafts_.erase(found);
}

std::vector<TokenIds> Speculation::propose(std::vector<SpeculatedText>& texts, std::int64_t rows) {
  std::int64_t rest = std::min(most_, kRows - rows), left = std::ssize(texts);
  for (SpeculatedText& text : texts) {
    Pace& pace = paces_[text.number];
    // A step yields one id more than it accepts.
    const std::int64_t longest = text.lengths.max - std::ssize(text.ids) - 1;
    text.most = 0;
    if (pace.pause > 0) {
      --pace.pause;
    } else if (rest > 0) {
      text.most = std::clamp<std::int64_t>(longest, 0, std::min(pace.count, divide_up(rest, left)));
    }
    rest -= text.most, --left;
  }
  return proposer_->propose(texts);
}

void Speculation::record(std::int64_t number, std::int64_t proposed, std::int64_t accepted) {
  if (proposed == 0) return;
  proposed_ += proposed, accepted_ += accepted;
  Pace& pace = paces_[number];
  if (accepted == proposed) {
    pace.count = std::min(std::max(pace.count, 2 * proposed), kRows);
  } else {
    pace.count = std::max<std::int64_t>(accepted, 1);
  }
  pace.failures = accepted > 0 ? 0 : pace.failures + 1;
  if (pace.failures >= kPatience)
    pace.pause = std::min<std::int64_t>(
        std::int64_t{1} << std::min<std::int64_t>(pace.failures, 10), kLongestPause);
}

void Speculation::drop(std::int64_t number) {
  proposer_->drop(number);
  paces_.erase(number);
}

}  // namespace weft
