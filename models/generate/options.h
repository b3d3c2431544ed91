// Options of text generation: lengths, rules for ids, and the search.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

class Constraint;  // models/generate/structured/constraint.h

using TokenIds = std::vector<std::int64_t>;

/// Options for sampling ids. The filters apply in this order, as in Hugging Face transformers:
/// temperature, top_k, top_p, min_p.
struct SamplingOptions {
  double temperature = 1.0;  // divisor of the scores; > 0
  /// Keeps the k most likely ids, including ties with the k-th; 0 = all.
  std::int64_t top_k = 0;
  /// Keeps the smallest set of most likely ids with at least this total probability (Holtzman et
  /// al. 2020).
  double top_p = 1.0;
  /// Keeps ids with at least this fraction of the probability of the most likely one (Nguyen et al.
  /// 2024).
  double min_p = 0.0;
  std::uint64_t seed = 1;
  /// Index of the first row. Sampling rows in several calls with the matching `first_row` produces
  /// the same ids as sampling all rows in one call.
  std::int64_t first_row = 0;

  /// Throws an ArgumentError that names the option, its value and the allowed values.
  void check() const;
};

/// The rules for timestamps in the output of speech recognition (Radford et al. 2022, "Whisper"),
/// with those of Hugging Face transformers:
/// - The output begins with a timestamp.
/// - Timestamps occur in pairs: after text, the end of a segment, followed by the beginning of the
///   next one or an end id.
/// - Timestamps do not decrease, and the end of a segment is later than its beginning.
/// - If all timestamps together are more likely than the most likely other id, a timestamp follows.
struct TimestampRules {
  std::int64_t first_id = 0;           // the id of the time 0; all higher ids are later times
  std::int64_t no_timestamps_id = -1;  // an id that is never generated; -1 = none
  /// Number of steps between 0 and the latest time with which an output may begin; -1 = no limit.
  std::int64_t max_initial = -1;
};

/// When beam search stops. The values correspond to `early_stopping` false, true and "never" in
/// Hugging Face transformers.
enum class EarlyStopping : std::uint8_t {
  heuristic,  // when the best running beam would not improve the result by ending now
  first,      // when there are `beams` finished sequences
  never,      // when no running beam can improve the result at any length
};

/// Options for greedy search, sampling and beam search. TextGenerator::options() returns the
/// defaults of a model.
///
/// Lengths include the ids that a sequence starts from: the prompt of a decoder, or the first ids
/// of an encoder-decoder's output. End ids are eos_id and stop_ids.
///
/// Rules are applied to the scores of the next id: first logit_bias, frequency_penalty and
/// presence_penalty; then, in the order of `generate` in Hugging Face transformers,
/// repetition_penalty, no_repeat_ngram, encoder_no_repeat_ngram, bad_token_ids and
/// bad_token_sequences, min_length and min_new, forced_bos_id, forced_eos_id, bad_first_token_ids,
/// forced, timestamps; then the filters of `sampling`. Scores are logits; in beam search they are
/// log-probabilities.
struct GenerationOptions {
  /// Upper limit for `beams` and `results`. Each beam or result is a batch row with its own caches.
  static constexpr std::int64_t kMaxRows = 4096;
  /// Upper limit for the absolute value of `length_penalty`. Scores of all lengths that fit in
  /// memory are then finite and distinct from 0. Common values are from 0 to 2.
  static constexpr double kMaxLengthPenalty = 30;

  std::int64_t beams = 1;        // 1 = greedy: the most likely id (ties: the lowest id)
  std::int64_t max_length = 20;  // maximum number of ids; 0 = the default of a TextGenerator
  std::int64_t max_new = -1;     // maximum number of new ids; replaces max_length; -1 = unused
  std::int64_t min_length = 0;   // minimum number of ids before an end id is allowed
  std::int64_t min_new = 0;      // minimum number of new ids before an end id is allowed
  std::int64_t eos_id = -1;      // ends a sequence; -1 = none
  TokenIds stop_ids = {};        // additional ids that end a sequence
  std::int64_t pad_id = 0;       // padding for sequences that ended earlier
  /// The only id allowed in the last position before max_length (forced_eos_id) and directly after
  /// the start (forced_bos_id); -1 = none.
  std::int64_t forced_eos_id = -1, forced_bos_id = -1;
  /// Forced ids by position. The key is the number of ids before the forced id.
  std::map<std::int64_t, std::int64_t> forced = {};
  /// Added to the scores of these ids. Values must be finite.
  std::map<std::int64_t, double> logit_bias = {};
  /// Subtracted from the score of every id that occurs among the new ids (OpenAI's definition):
  /// `frequency_penalty` once per occurrence, `presence_penalty` once. Negative values favour
  /// repetition; 0 = no penalty.
  double frequency_penalty = 0, presence_penalty = 0;
  /// Scores of ids that already occurred are divided by this value if the scores are positive, and
  /// multiplied by it otherwise (Keskar et al. 2019, "CTRL"); 1 = no penalty.
  double repetition_penalty = 1;
  std::int64_t no_repeat_ngram = 0;  // n: no n-gram occurs twice in a sequence; 0 = unrestricted
  /// n: no n-gram of the encoder's input (for decoders, of the prompt) occurs in a sequence
  /// (Blenderbot); empty = unrestricted.
  std::optional<std::int64_t> encoder_no_repeat_ngram = {};
  /// Ids that must not be generated. The scores of other ids do not change.
  TokenIds bad_token_ids = {};
  /// Id sequences that must not be generated: the last id is forbidden directly after the others.
  std::vector<TokenIds> bad_token_sequences = {};
  /// Ids that must not be generated in the first position after the start and the forced ids.
  TokenIds bad_first_token_ids = {};

  std::optional<TimestampRules> timestamps = {};  // for speech recognition

  /// If set, the new text is valid (JSON for a schema, a regular expression, one of several texts)
  /// whenever it ends with an end id, or when nothing can follow. Ids that cannot continue it are
  /// forbidden after all other rules. Not supported with beams.
  std::shared_ptr<const Constraint> constraint = {};

  /// If set, ids are sampled instead of always selecting the most likely id. Not supported with
  /// beams.
  std::optional<SamplingOptions> sampling = {};
  /// Number of sequences returned per prompt: the best beams, or the samples.
  std::int64_t results = 1;
  /// Without beams: SearchResult::scores contains the sum of the log-probabilities of the new ids,
  /// after the rules and before the filters of `sampling`.
  bool log_probabilities = false;
  /// A sequence ends as soon as its new ids end with one of these sequences. Not supported with
  /// beams.
  std::vector<TokenIds> stop_sequences = {};
  /// A sequence ends as soon as its new text contains one of these texts. Requires a TextGenerator,
  /// which has a tokenizer. Not supported with beams.
  std::vector<std::string> stop_texts = {};

  // For beam search only.
  double length_penalty = 1;  // scores are divided by length^length_penalty
  EarlyStopping early_stopping = EarlyStopping::heuristic;
  /// Ids that are excluded before the softmax, so that their probability is 0 (for example the
  /// padding id in Marian).
  TokenIds suppressed = {};

  /// For decoders. If true and a text outgrows the positions that the model was trained with, the
  /// later half of the window is kept and recomputed. If false, a text that exceeds learned
  /// positions causes an ArgumentError, and models with other position encodings continue beyond
  /// the trained length.
  bool slide = false;
  /// For decoders. If true, the cached keys and values of the common prefix with the previous
  /// prompt are reused, as long as each call has a single row. This is useful for texts that grow,
  /// such as conversations. The ids are the same, unless scores are equal up to rounding.
  bool reuse_caches = false;
  /// For encoder-decoders: the first ids of every output.
  TokenIds start = {};

  // For TextGenerator only.
  std::int64_t batch = 32;  // maximum number of prompts per batch
  /// If true, prompts that leave no room for output are truncated; otherwise they are errors. For
  /// decoders, the beginning of the prompt is dropped to make room for the maximum number of new
  /// ids, limited to half of the context. For encoder-decoders, the end of the prompt is dropped.
  /// Special ids at both ends are kept.
  bool truncate = false;

  /// Returns true if a sequence ends with this id.
  bool is_end(std::int64_t id) const;
  /// Throws an ArgumentError that names the option, its value and the allowed values. Also throws
  /// ArgumentError for options that cannot be combined.
  void check() const;
};

}  // namespace weft
