// What is to be generated: how long, which ids, and how they are chosen.
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

/// Drawing ids. The filters apply in this order, as in Hugging Face's library: temperature, top_k,
/// top_p, min_p.
struct SamplingOptions {
  double temperature = 1.0;  // scores are divided by it; > 0
  std::int64_t top_k = 0;  // only the k most likely ids (and those as likely as the k-th); 0 = all
  /// Only the fewest most likely ids that hold this much probability (Holtzman et al. 2020).
  double top_p = 1.0;
  /// Only ids that are at least this share as likely as the most likely one (Nguyen et al. 2024).
  double min_p = 0.0;
  std::uint64_t seed = 1;
  /// What the first row counts as: rows that are drawn in parts are then drawn as if together.
  std::int64_t first_row = 0;

  /// Throws ArgumentError naming the option, its value and what is allowed.
  void check() const;
};

/// When beams stop: what `early_stopping` false, true and "never" are in Hugging Face's library.
enum class EarlyStopping : std::uint8_t {
  heuristic,  // once the best running beam could not get better by ending now
  first,      // as soon as there are `beams` finished sequences
  never,      // once no running beam could get better, however long it grows
};

/// Lengths count ids with those that a sequence starts from: the prompt of a decoder, the first ids
/// of an encoder-decoder. "Ends" are eos_id and stop_ids.
///
/// Rules apply to the scores of the next id in this order, that of Hugging Face's `generate`:
/// repetition_penalty, no_repeat_ngram, forbidden and forbidden_sequences, min_length and min_new,
/// forced_bos_id, forced_eos_id, forbidden_first, forced; then those of `sampling`. Scores are
/// logits, with beams log-probabilities.
struct GenerationOptions {
  /// Most beams, and most results: each is a row of the batch, with caches of its own.
  static constexpr std::int64_t kMaxRows = 4096;

  std::int64_t beams = 1;        // 1 = greedy: always the most likely id (the first of equals)
  std::int64_t max_length = 20;  // most ids
  std::int64_t max_new = -1;     // most ids after the start, instead of max_length; -1 = unused
  std::int64_t min_length = 0;   // no end before there are as many ids
  std::int64_t min_new = 0;      // no end before there are as many ids after the start
  std::int64_t eos_id = -1;      // ends a sequence; -1 = none
  TokenIds stop_ids = {};        // more ids that end a sequence
  std::int64_t pad_id = 0;       // fills up what ended earlier
  /// The only possible id in the last place before max_length, or after the start; -1 = none.
  std::int64_t forced_eos_id = -1, forced_bos_id = -1;
  /// The only possible id after as many ids as the key says.
  std::map<std::int64_t, std::int64_t> forced = {};
  /// Scores of ids that occurred are divided by it where positive, else multiplied (Keskar et al.
  /// 2019, "CTRL"); 1 = no penalty.
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram = 0;  // n: no n adjacent ids occur twice in a sequence; 0 = may
  TokenIds forbidden = {};           // ids that are not taken; others are scored as ever
  std::vector<TokenIds> forbidden_sequences = {};  // nor ids that would complete one of these
  TokenIds forbidden_first = {};  // ids that are not taken first after what is given and forced

  /// Draws instead of taking the most likely id. Not with beams.
  std::optional<SamplingOptions> sampling = {};
  /// Sequences per prompt: the best of beams, or as many draws.
  std::int64_t results = 1;
  /// A sequence ends where its new ids end with one of these. Not with beams.
  std::vector<TokenIds> stop_sequences = {};
  /// A sequence (row, new ids) ends where this says so: for ends that are texts. Not with beams.
  std::function<bool(std::int64_t row, std::span<const std::int64_t> ids)> stop = {};

  // Beams only.
  double length_penalty = 1;  // scores are divided by length^length_penalty
  EarlyStopping early_stopping = EarlyStopping::heuristic;
  TokenIds never = {};  // ids that are not even scored (padding, in Marian)

  /// Of decoders: where a text outgrows the positions that the model was trained with, the later
  /// half of these is kept and computed anew. False: positions that are learned must suffice
  /// (ArgumentError), others go on.
  bool slide = false;

  /// Whether a text ends with this id.
  bool is_end(std::int64_t id) const;
  /// Throws ArgumentError naming the option, its value and what is allowed, also for options that
  /// have no meaning together.
  void check() const;
};

}  // namespace weft
