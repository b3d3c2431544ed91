#include "weft/models/generate/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"

namespace weft {
namespace {

void at_least(const char* name, std::int64_t value, std::int64_t low) {
  if (value < low)
    throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, low, value));
}

void within(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw ArgumentError(fmt::format("{} must be in [{}, {}], not {}", name, low, high, value));
}

void check_sequences(const char* name, const std::vector<TokenIds>& sequences) {
  for (const TokenIds& sequence : sequences) {
    if (sequence.empty())
      throw ArgumentError(
          fmt::format("{} contains an empty sequence, which matches everywhere", name));
  }
}

}  // namespace

void SamplingOptions::check() const {
  if (!(temperature > 0) || std::isinf(temperature)) {
    throw ArgumentError(fmt::format(
        "temperature must be positive, not {} (use greedy search to select the most likely token)",
        temperature));
  }
  if (top_k < 0) throw ArgumentError(fmt::format("top_k must be 0 (all) or more, not {}", top_k));
  if (!(top_p > 0 && top_p <= 1))
    throw ArgumentError(fmt::format("top_p must be in (0, 1], not {}", top_p));
  if (!(min_p >= 0 && min_p <= 1))
    throw ArgumentError(fmt::format("min_p must be in [0, 1], not {}", min_p));
}

bool GenerationOptions::is_end(std::int64_t id) const {
  return (id == eos_id && eos_id >= 0) ||
         std::find(stop_ids.begin(), stop_ids.end(), id) != stop_ids.end();
}

void GenerationOptions::check() const {
  // This limit ensures that sums of lengths fit in 64 bits for all model settings.
  constexpr std::int64_t kLongest = std::int64_t{1} << 40;
  within("beams", beams, 1, kMaxRows);
  if (max_length != 0) within("max_length", max_length, 1, kLongest);
  within("max_new", max_new, -1, kLongest);
  at_least("min_length", min_length, 0);
  at_least("min_new", min_new, 0);
  at_least("no_repeat_ngram", no_repeat_ngram, 0);
  at_least("encoder_no_repeat_ngram", encoder_no_repeat_ngram.value_or(1), 1);
  at_least("eos_id", eos_id, -1);
  within("results", results, 1, kMaxRows);
  at_least("batch", batch, 1);
  if (!(repetition_penalty > 0) || std::isinf(repetition_penalty)) {
    throw ArgumentError(
        fmt::format("repetition_penalty must be positive, not {}", repetition_penalty));
  }
  const auto finite = [](const char* name, double value) {
    if (!std::isfinite(value))
      throw ArgumentError(fmt::format("{} must be finite, not {}", name, value));
  };
  for (const auto& [id, bias] : logit_bias)
    finite(fmt::format("the logit_bias of id {}", id).c_str(), bias);
  finite("frequency_penalty", frequency_penalty);
  finite("presence_penalty", presence_penalty);
  finite("length_penalty", length_penalty);
  if (std::abs(length_penalty) > kMaxLengthPenalty) {
    throw ArgumentError(fmt::format("length_penalty must be in [{}, {}], not {}",
                                    -kMaxLengthPenalty, kMaxLengthPenalty, length_penalty));
  }
  check_sequences("bad_token_sequences", bad_token_sequences);
  check_sequences("stop_sequences", stop_sequences);
  if (sampling) {
    sampling->check();
    if (beams > 1)
      throw ArgumentError(fmt::format(
          "sampling with {} beams is not supported: use 1 beam, or beam search without sampling",
          beams));
  } else if (results > beams) {
    throw ArgumentError(fmt::format(
        "without sampling, results must not exceed beams ({}), but it is {}", beams, results));
  }
  if (std::find(stop_texts.begin(), stop_texts.end(), "") != stop_texts.end())
    throw ArgumentError("a stop text is empty; an empty text matches everywhere");
  if (beams > 1 && constraint)
    throw ArgumentError("a constraint is not supported with beams: use greedy search or sampling");
  if (beams > 1 && !(stop_sequences.empty() && stop_texts.empty())) {
    throw ArgumentError(
        "stop_sequences and stop_texts are not supported with beams; use stop_ids or eos_id");
  }
}

}  // namespace weft
