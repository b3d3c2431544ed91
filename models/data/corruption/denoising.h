// Objectives that convert plain text to inputs and targets of encoder-decoder models: span
// corruption (Raffel et al. 2020, T5), UL2's mixture of denoisers (Tay et al. 2023), BART's five
// noise types (Lewis et al. 2020) and gap sentences (Zhang et al. 2020, PEGASUS). The results are
// functions of the ids and the seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

using TokenIds = std::vector<std::int64_t>;
using TokenSpan = std::span<const std::int64_t>;

struct DenoisingExample {
  TokenIds input, target;
};

struct SpanCorruptionOptions {
  double density = 0.15;  // fraction of ids that are masked, in (0, 1)
  double mean_span = 3;   // mean length of masked spans, at least 1
  /// Sentinel id for the first masked span. Span i is replaced by first_sentinel - i (in T5,
  /// <extra_id_0> is the last id of the vocabulary).
  std::int64_t first_sentinel = 32099;
  std::int64_t sentinels = 100;  // number of sentinels
  std::int64_t eos_id = 1;       // appended to input and target; -1 = none
};
/// Replaces masked spans by sentinels in the input. The target contains each sentinel followed by
/// the ids that it replaces, and one more sentinel at the end. The lengths of input and target
/// depend only on the number of ids and the options. All choices of this number of non-adjacent
/// spans are equally likely. (T5's original code always keeps the beginning and masks the end; in a
/// short text, only the end is masked.) Throws ArgumentError if there are fewer than 2 ids, if
/// options are out of range, or if there are not enough sentinels.
DenoisingExample span_corruption(TokenSpan ids, const SpanCorruptionOptions& options,
                                 std::uint64_t seed);
/// Returns the number of spans that span_corruption() masks in a text with `length` ids. `length`
/// must be at least 2. span_corruption() needs one more sentinel than the number of spans. Throws
/// ArgumentError if options are out of range.
std::int64_t corrupted_spans(std::int64_t length, const SpanCorruptionOptions& options);
/// Splits the text at a random position. The first part is the input and the second part is the
/// target (prefix language model).
DenoisingExample prefix_split(TokenSpan ids, std::int64_t eos_id, std::uint64_t seed);

struct MixtureOptions {
  /// The mode ids. One of them is prepended to the input to identify the type of denoiser.
  std::int64_t regular_id = 0, sequential_id = 0, extreme_id = 0;
  std::int64_t first_sentinel = 32099, sentinels = 100, eos_id = 1;
};
/// Applies one of UL2's seven denoisers, chosen with equal probability: regular span corruption
/// (mean span length 3 or 8, 15% masked), sequential (prefix_split()), or extreme span corruption
/// (mean span length 3, 8 or 64 with 50% masked, or mean span length 64 with 15% masked).
DenoisingExample denoiser_mixture(TokenSpan ids, const MixtureOptions& options, std::uint64_t seed);
/// Returns the maximum number of spans that any of the seven denoisers masks in a text with
/// `length` ids. `length` must be at least 2.
std::int64_t mixture_spans(std::int64_t length);

// BART's noise functions. The target is the unchanged text. All functions throw ArgumentError
// unless rates are in [0, 1].

/// Replaces each id by mask_id with probability `rate`.
TokenIds mask_tokens(TokenSpan ids, std::int64_t mask_id, double rate, std::uint64_t seed);
/// Deletes each id with probability `rate`.
TokenIds delete_tokens(TokenSpan ids, double rate, std::uint64_t seed);
/// Replaces spans of Poisson(mean_span) ids by one mask_id each, until a fraction `rate` of the ids
/// is masked. For an empty span, a mask_id is inserted.
TokenIds infill_text(TokenSpan ids, std::int64_t mask_id, double rate, double mean_span,
                     std::uint64_t seed);
/// Shuffles the sentences.
TokenIds permute_sentences(const std::vector<TokenIds>& sentences, std::uint64_t seed);
/// Rotates the text to start at a random id; the ids before it move to the end.
TokenIds rotate_document(TokenSpan ids, std::uint64_t seed);

/// Replaces each of `count` sentences by mask_id. The target contains these sentences in text
/// order. The sentences with the highest ROUGE-1 F1 score against the rest of the document are
/// selected. Each sentence is scored independently; ties are resolved in favour of the first
/// sentence. Throws ArgumentError unless 1 <= count < number of sentences.
DenoisingExample gap_sentences(const std::vector<TokenIds>& sentences, std::int64_t count,
                               std::int64_t mask_id, std::int64_t eos_id);

}  // namespace weft
