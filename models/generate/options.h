// Options of text generation: lengths, rules for ids, and the search.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

using TokenIds = std::vector<std::int64_t>;

/// Options for sampling ids. The filters apply in this order, as in Hugging Face transformers:
/// temperature, top_k, top_p, min_p.
struct SamplingOptions {
  double temperature = 1.0;  // scores are divided by it; > 0
  /// Keeps the k most likely ids, and those that are as likely as the k-th; 0 = all.
  std::int64_t top_k = 0;
  /// Keeps the smallest set of most likely ids with at least this total probability (Holtzman et
  /// al. 2020).
  double top_p = 1.0;
  /// Keeps ids with at least this fraction of the probability of the most likely one (Nguyen et al.
  /// 2024).
  double min_p = 0.0;
  std::uint64_t seed = 1;
  /// Number of the first row, so that rows that are sampled in several calls give the same ids as
  /// in one call.
  std::int64_t first_row = 0;

  /// Throws an ArgumentError that names the option, its value and the allowed values.
  void check() const;
};

/// When beam search stops. The values correspond to `early_stopping` false, true and "never" in
/// Hugging Face transformers.
enum class EarlyStopping : std::uint8_t {
  heuristic,  // once the best running beam could not improve the result by ending now
  first,      // once there are `beams` finished sequences
  never,      // once no running beam could improve the result, however long it grows
};

/// Options of greedy search, sampling and beam search.
///
/// Lengths include the ids that a sequence starts from: the prompt of a decoder, or the first ids
/// of an encoder-decoder's output. End ids are eos_id and stop_ids.
///
/// Rules are applied to the scores of the next id in the order of `generate` in Hugging Face
/// transformers: repetition_penalty, no_repeat_ngram, bad_token_ids and bad_token_sequences,
/// min_length and min_new, forced_bos_id, forced_eos_id, bad_first_token_ids, forced; then the
/// filters of `sampling`. Scores are logits; in beam search they are log-probabilities.
struct GenerationOptions {
  /// Maximum of `beams` and of `results`: each is a row of the batch with its own caches.
  static constexpr std::int64_t kMaxRows = 4096;

  std::int64_t beams = 1;        // 1 = greedy: always the most likely id (the first of equal ones)
  std::int64_t max_length = 20;  // maximum number of ids
  std::int64_t max_new = -1;     // maximum after the start, instead of max_length; -1 = unused
  std::int64_t min_length = 0;   // no end id before the sequence has this many ids
  std::int64_t min_new = 0;      // no end id before there are this many ids after the start
  std::int64_t eos_id = -1;      // ends a sequence; -1 = none
  TokenIds stop_ids = {};        // further ids that end a sequence
  std::int64_t pad_id = 0;       // pads sequences that ended earlier
  /// The only allowed id in the last position before max_length, and right after the start; -1 =
  /// none.
  std::int64_t forced_eos_id = -1, forced_bos_id = -1;
  /// Forced ids by position: the key is the number of ids in front of the forced one.
  std::map<std::int64_t, std::int64_t> forced = {};
  /// Scores of ids that already occurred are divided by this if they are positive, else multiplied
  /// (Keskar et al. 2019, "CTRL"); 1 = no penalty.
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram = 0;  // n: no n-gram occurs twice in a sequence; 0 = unrestricted
  /// Ids that are not generated. The scores of other ids do not change.
  TokenIds bad_token_ids = {};
  /// Sequences that are not completed: after its other ids, the last id is not generated.
  std::vector<TokenIds> bad_token_sequences = {};
  /// Ids that are not generated in the first position after the start and the forced ids.
  TokenIds bad_first_token_ids = {};

  /// Samples instead of taking the most likely id. Not supported with beams.
  std::optional<SamplingOptions> sampling = {};
  /// Sequences per prompt: the best beams, or the number of samples.
  std::int64_t results = 1;
  /// A sequence ends as soon as its new ids end with one of these. Not supported with beams.
  std::vector<TokenIds> stop_sequences = {};
  /// A sequence (row, new ids) ends when this returns true. Used for stop texts. Not supported with
  /// beams.
  std::function<bool(std::int64_t row, std::span<const std::int64_t> ids)> stop = {};

  // For beam search only.
  double length_penalty = 1;  // scores are divided by length^length_penalty
  EarlyStopping early_stopping = EarlyStopping::heuristic;
  /// Ids that are excluded before the softmax, so that they get no probability (padding, in
  /// Marian).
  TokenIds suppressed = {};

  /// For decoders: if a text outgrows the positions that the model was trained with, the later half
  /// of the window is kept and recomputed. If false, learned positions must suffice
  /// (ArgumentError), and models with other positions continue beyond them.
  bool slide = false;

  /// Returns true if a sequence ends with this id.
  bool is_end(std::int64_t id) const;
  /// Throws an ArgumentError that names the option, its value and the allowed values, also for
  /// options that cannot be combined.
  void check() const;
};

}  // namespace weft
