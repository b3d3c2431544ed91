#include "weft/models/generate/next_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/generate/stop_texts.h"

namespace weft {
namespace {

/// Returns every id in the options.
TokenIds referenced_ids(const GenerationOptions& options) {
  TokenIds ids = options.suppressed;
  for (const TokenIds* more :
       {&options.bad_token_ids, &options.bad_first_token_ids, &options.stop_ids})
    ids.insert(ids.end(), more->begin(), more->end());
  for (const auto& sequence : options.bad_token_sequences) ids.push_back(sequence.back());
  for (const auto& [place, id] : options.forced) ids.push_back(id);
  for (const auto& [id, bias] : options.logit_bias) ids.push_back(id);
  if (options.timestamps) {
    ids.push_back(options.timestamps->first_id);
    ids.push_back(std::max<std::int64_t>(options.timestamps->no_timestamps_id, 0));
  }
  for (const std::int64_t id : {options.eos_id, options.forced_eos_id, options.forced_bos_id})
    ids.push_back(std::max<std::int64_t>(id, 0));
  return ids;
}

/// Forbids the ids that cannot continue the text, and end ids unless it is complete.
void apply_constraint(const GenerationOptions& options, const ConstraintState& state,
                      std::vector<double>& scores) {
  std::vector<std::uint64_t> allowed((scores.size() + 63) / 64);
  state.allowed_ids(allowed);
  const bool complete = state.is_complete();
  const auto allow = [&](std::int64_t id, bool yes) {
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    std::uint64_t& word = allowed[static_cast<std::size_t>(id / 64)];
    word = yes ? word | bit : word & ~bit;
  };
  if (options.eos_id >= 0) allow(options.eos_id, complete);
  for (const std::int64_t id : options.stop_ids) allow(id, complete);
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if ((allowed[id / 64] >> (id % 64) & 1) == 0) scores[id] = kForbidden;
  }
}

/// Returns the ids with the `count` highest scores, in descending order (ties: the lowest id
/// first). Forbidden ids are excluded.
std::vector<ScoredToken> most_likely(const std::vector<double>& scores, std::int64_t count) {
  std::vector<ScoredToken> best;
  const auto before = [](const ScoredToken& a, const ScoredToken& b) {
    return a.log_probability > b.log_probability ||
           (a.log_probability == b.log_probability && a.id < b.id);
  };
  for (std::int64_t id = 0; id < std::ssize(scores) && count > 0; ++id) {
    const ScoredToken token{id, scores[static_cast<std::size_t>(id)]};
    if (token.log_probability == kForbidden) continue;
    if (std::ssize(best) == count) {
      if (!before(token, best.back())) continue;
      best.pop_back();
    }
    best.insert(std::upper_bound(best.begin(), best.end(), token, before), token);
  }
  return best;
}

}  // namespace

void check_options(const GenerationOptions& options) {
  options.check();
  if (options.max_new < 0 && options.max_length == 0)
    throw ArgumentError("max_length is 0: only a TextGenerator has a default length");
  if (!options.stop_texts.empty())
    throw ArgumentError("stop_texts require a tokenizer: use a TextGenerator, or stop_sequences");
}

LengthRules checked_length_rules(const GenerationOptions& options, std::int64_t start) {
  const LengthRules lengths = length_rules(options, start);
  if (lengths.max > start) return lengths;
  throw ArgumentError(
      fmt::format("the prompt has {} tokens and {} is {}: there is no room for new tokens", start,
                  options.max_new >= 0 ? "max_new" : "max_length",
                  options.max_new >= 0 ? options.max_new : options.max_length));
}

void check_ids(const GenerationOptions& options, std::int64_t vocab) {
  for (const std::int64_t id : referenced_ids(options)) {
    if (id < 0 || id >= vocab)
      throw ArgumentError(fmt::format("id {} is outside the vocabulary (size {})", id, vocab));
  }
}

void read_logits(std::span<const float> logits, std::string_view name,
                 std::vector<double>& scores) {
  scores.assign(logits.begin(), logits.end());
  const bool numbers =
      std::none_of(scores.begin(), scores.end(), [](double x) { return std::isnan(x); });
  if (!numbers || !std::isfinite(*std::max_element(scores.begin(), scores.end())))
    throw DataError(
        fmt::format("the model's logits are not finite for {}: training may have diverged", name));
}

NewToken next_id(const GenerationOptions& options, const LengthRules& lengths,
                 std::span<const std::int64_t> ids, std::int64_t row, std::string_view name,
                 std::span<const float> logits, std::vector<double>& scores, std::int64_t top,
                 ConstraintState* constraint) {
  const auto length = static_cast<std::int64_t>(ids.size());
  read_logits(logits, name, scores);
  apply_rules(options, lengths, ids, scores);
  if (constraint != nullptr) apply_constraint(options, *constraint, scores);
  const auto best = std::max_element(scores.begin(), scores.end());
  if (*best == kForbidden) {
    throw DataError(
        fmt::format("the options exclude every id in the vocabulary after {} ids in {}: no id can "
                    "be generated",
                    length, name));
  }
  NewToken next{.token = {best - scores.begin(), *best}};
  double log_sum = 0;
  if (top >= 0) {
    log_sum = *best;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - *best);
    log_sum += std::log(sum);
    next.top = most_likely(scores, top);
    for (ScoredToken& token : next.top) token.log_probability -= log_sum;
  }
  if (options.sampling) {
    const std::vector<double> all = top < 0 ? std::vector<double>() : scores;
    filter_scores(*options.sampling, scores);
    next.token.id = sample_id(scores, options.sampling->seed, options.sampling->first_row + row,
                              length - lengths.start);
    if (top >= 0) next.token.log_probability = all[static_cast<std::size_t>(next.token.id)];
  }
  next.token.log_probability = top < 0 ? 0 : next.token.log_probability - log_sum;
  if (constraint != nullptr && !options.is_end(next.token.id)) constraint->accept(next.token.id);
  return next;
}

std::optional<Finish> finish_of(const GenerationOptions& options, const LengthRules& lengths,
                                std::span<const std::int64_t> ids,
                                const ConstraintState* constraint) {
  if (options.is_end(ids.back())) return Finish::end;
  const auto made = ids.subspan(static_cast<std::size_t>(lengths.start));
  if (ends_with_any(made, options.stop_sequences) ||
      (constraint != nullptr && constraint->is_final()))
    return Finish::stop;
  return std::ssize(ids) >= lengths.max ? std::optional(Finish::length) : std::nullopt;
}

}  // namespace weft
