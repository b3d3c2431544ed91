// Objectives that make input and target of encoder-decoders out of plain text: span corruption
// (Raffel et al. 2020, T5), UL2's mixture of denoisers (Tay et al. 2023), BART's five noises (Lewis
// et al. 2020) and gap sentences (Zhang et al. 2020, PEGASUS). All are functions of ids and seed
// alone.
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
  double density = 0.15;  // share of ids that is hidden, in (0, 1)
  double mean_span = 3;   // mean length of what is hidden together, at least 1
  /// Stands for the first hidden span; span i has first_sentinel - i (T5's <extra_id_0> is the last
  /// id of its vocabulary).
  std::int64_t first_sentinel = 32099;
  std::int64_t sentinels = 100;  // how many there are
  std::int64_t eos_id = 1;       // ends input and target; -1 = none
};
/// Hidden spans leave their sentinels in the input; the target has each sentinel and what it stands
/// for, and one more sentinel at the end. Lengths depend on the number of ids and the options only;
/// every choice of so many spans that do not touch is as likely (T5's first code, which always
/// keeps the beginning and hides the end, hides nothing but the end of a short text).
/// Throws ArgumentError for fewer than 2 ids and options out of range, also where there are not
/// enough sentinels.
DenoisingExample span_corruption(TokenSpan ids, const SpanCorruptionOptions& options,
                                 std::uint64_t seed);
/// Spans that are hidden of a text of `length` ids, at least 2: one sentinel less than it takes.
/// Throws ArgumentError for options out of range.
std::int64_t corrupted_spans(std::int64_t length, const SpanCorruptionOptions& options);
/// The first part of the text as input, the rest as target, cut anywhere (prefix language model).
DenoisingExample prefix_split(TokenSpan ids, std::int64_t eos_id, std::uint64_t seed);

struct MixtureOptions {
  /// Put in front of the input: which kind of denoising this is.
  std::int64_t regular_id = 0, sequential_id = 0, extreme_id = 0;
  std::int64_t first_sentinel = 32099, sentinels = 100, eos_id = 1;
};
/// One of UL2's seven denoisers, all as likely: regular spans (mean 3 or 8, 15% hidden), sequential
/// (prefix_split), extreme ones (mean 3, 8 or 64 with 50%, or 64 with 15%).
DenoisingExample denoiser_mixture(TokenSpan ids, const MixtureOptions& options, std::uint64_t seed);
/// Most spans that any of the seven hides of a text of `length` ids, at least 2.
std::int64_t mixture_spans(std::int64_t length);

// BART's noises: the target is the text itself. Rates are in [0, 1] (ArgumentError).

/// Each id becomes mask_id with probability `rate`.
TokenIds mask_tokens(TokenSpan ids, std::int64_t mask_id, double rate, std::uint64_t seed);
/// Each id is left out with probability `rate`.
TokenIds delete_tokens(TokenSpan ids, double rate, std::uint64_t seed);
/// Spans of Poisson(mean_span) ids become one mask_id each (an empty one: a mask_id is put in),
/// until a share `rate` of the ids is hidden.
TokenIds infill_text(TokenSpan ids, std::int64_t mask_id, double rate, double mean_span,
                     std::uint64_t seed);
/// The sentences in another order.
TokenIds permute_sentences(const std::vector<TokenIds>& sentences, std::uint64_t seed);
/// The text begins at any of its ids; what stood before it comes at the end.
TokenIds rotate_document(TokenSpan ids, std::uint64_t seed);

/// The `count` sentences that say most of the others (ROUGE-1 F1 with the rest of the document,
/// each on its own; the first of equals) become one mask_id each, and are the target in the order
/// of the text. Throws ArgumentError unless 1 <= count < number of sentences.
DenoisingExample gap_sentences(const std::vector<TokenIds>& sentences, std::int64_t count,
                               std::int64_t mask_id, std::int64_t eos_id);

}  // namespace weft
