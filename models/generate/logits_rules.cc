#include "weft/models/generate/logits_rules.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using Sequence = std::span<const std::int64_t>;

double& at(std::vector<double>& scores, std::int64_t id) {
  return scores[static_cast<std::size_t>(id)];
}

/// Adds logit_bias, and subtracts the penalties of the ids in `made`, the new ids.
void shift_scores(const GenerationOptions& options, Sequence made, std::vector<double>& scores) {
  for (const auto& [id, bias] : options.logit_bias) at(scores, id) += bias;
  if (options.frequency_penalty == 0 && options.presence_penalty == 0) return;
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t id : made) ++counts[id];
  for (const auto& [id, count] : counts) {
    at(scores, id) -=
        static_cast<double>(count) * options.frequency_penalty + options.presence_penalty;
  }
}

void penalise_repetition(double penalty, Sequence ids, std::vector<double>& scores) {
  if (penalty == 1) return;
  // The penalty is applied once per id, even if the id occurs several times.
  TokenIds seen(ids.begin(), ids.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const std::int64_t id : seen) {
    double& score = at(scores, id);
    score = score < 0 ? score * penalty : score / penalty;
  }
}

/// Forbids the ids that would repeat an n-gram of `known`.
void forbid_ngrams(std::int64_t n, Sequence known, Sequence ids, std::vector<double>& scores) {
  const auto size = static_cast<std::size_t>(n);
  if (n == 0 || ids.size() + 1 < size) return;
  const Sequence tail = ids.last(size - 1);
  for (std::size_t i = 0; i + size <= known.size(); ++i) {
    const Sequence earlier = known.subspan(i, size);
    // The ids of a source may be from another vocabulary.
    if (earlier.back() < std::ssize(scores) &&
        std::equal(tail.begin(), tail.end(), earlier.begin()))
      at(scores, earlier.back()) = kForbidden;
  }
}

void forbid_sequences(const std::vector<TokenIds>& sequences, Sequence ids,
                      std::vector<double>& scores) {
  for (const TokenIds& sequence : sequences) {
    const std::size_t before = sequence.size() - 1;
    if (before > ids.size()) continue;
    if (std::equal(sequence.begin(), sequence.end() - 1, ids.end() - static_cast<long>(before)))
      at(scores, sequence.back()) = kForbidden;
  }
}

void force(std::int64_t id, std::vector<double>& scores) {
  std::fill(scores.begin(), scores.end(), kForbidden);
  at(scores, id) = 0;
}

/// Applies the rules for timestamps. `made` are the ids after those that the output starts from.
void apply_timestamp_rules(const TimestampRules& rules, Sequence made, std::int64_t eos_id,
                           std::vector<double>& scores) {
  const auto forbid = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t id = begin; id < std::min(end, std::ssize(scores)); ++id)
      at(scores, id) = kForbidden;
  };
  const std::int64_t first = std::min(rules.first_id, std::ssize(scores));
  if (rules.no_timestamps_id >= 0) at(scores, rules.no_timestamps_id) = kForbidden;
  const auto is_time = [&](std::size_t back) {
    return made.size() >= back && made[made.size() - back] >= first;
  };
  const bool last = is_time(1), pair = last && (made.size() < 2 || is_time(2));
  if (pair) {
    forbid(first, std::ssize(scores));
  } else if (last) {
    forbid(0, eos_id);  // no text between the end of a segment and the beginning of the next one
  }
  const auto latest =
      std::find_if(made.rbegin(), made.rend(), [&](std::int64_t id) { return id >= first; });
  if (latest != made.rend()) forbid(first, *latest + (last && !pair ? 0 : 1));
  if (made.empty()) {
    forbid(0, first);
    // Compared as a difference, because the sum could overflow.
    if (rules.max_initial >= 0 && rules.max_initial < std::ssize(scores) - first)
      forbid(first + rules.max_initial + 1, std::ssize(scores));
  }
  // The probabilities have a common factor, which the comparison does not need.
  const auto times = scores.begin() + static_cast<std::ptrdiff_t>(first);
  const double text = first == 0 ? kForbidden : *std::max_element(scores.begin(), times);
  const double highest =
      times == scores.end() ? kForbidden : *std::max_element(times, scores.end());
  if (highest == kForbidden) return;
  double sum = 0;
  for (auto score = times; score != scores.end(); ++score) sum += std::exp(*score - highest);
  if (highest + std::log(sum) > text) forbid(0, first);
}

}  // namespace

LengthRules length_rules(const GenerationOptions& options, std::int64_t start) {
  std::int64_t first_unforced = start + (options.forced_bos_id >= 0 ? 1 : 0);
  while (options.forced.contains(first_unforced)) ++first_unforced;
  return {start, first_unforced,
          std::max(options.min_length, options.min_new > 0 ? start + options.min_new : 0),
          options.max_new >= 0 ? start + options.max_new : options.max_length};
}

void apply_rules(const GenerationOptions& options, const LengthRules& lengths, Sequence ids,
                 std::vector<double>& scores) {
  const auto length = static_cast<std::int64_t>(ids.size());
  const Sequence made = ids.subspan(std::min(static_cast<std::size_t>(lengths.start), ids.size()));
  shift_scores(options, made, scores);
  penalise_repetition(options.repetition_penalty, ids, scores);
  forbid_ngrams(options.no_repeat_ngram, ids, ids, scores);
  forbid_ngrams(options.encoder_no_repeat_ngram.value_or(0), lengths.source, ids, scores);
  for (const std::int64_t id : options.bad_token_ids) at(scores, id) = kForbidden;
  forbid_sequences(options.bad_token_sequences, ids, scores);
  if (length < lengths.min) {
    if (options.eos_id >= 0) at(scores, options.eos_id) = kForbidden;
    for (const std::int64_t id : options.stop_ids) at(scores, id) = kForbidden;
  }
  if (options.forced_bos_id >= 0 && length == lengths.start) force(options.forced_bos_id, scores);
  if (options.forced_eos_id >= 0 && length == lengths.max - 1) force(options.forced_eos_id, scores);
  if (length == lengths.first_unforced) {
    for (const std::int64_t id : options.bad_first_token_ids) at(scores, id) = kForbidden;
  }
  if (const auto it = options.forced.find(length); it != options.forced.end())
    force(it->second, scores);
  if (options.timestamps) apply_timestamp_rules(*options.timestamps, made, options.eos_id, scores);
}

}  // namespace weft
