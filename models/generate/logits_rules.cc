#include "weft/models/generate/logits_rules.h"

#include <algorithm>

namespace weft {
namespace {

using Sequence = std::span<const std::int64_t>;

double& at(std::vector<double>& scores, std::int64_t id) {
  return scores[static_cast<std::size_t>(id)];
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
}

}  // namespace weft
