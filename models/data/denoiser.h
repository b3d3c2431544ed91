// What an encoder-decoder is pre-trained to do: one of the objectives of denoising.h, its settings,
// and the ids that it puts into texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/data/denoising.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

enum class DenoisingObjective : std::uint8_t {
  span_corruption,  // write what hidden spans were (T5)
  ul2,              // the same, lightly or heavily, or go on with a text (UL2's mixture)
  denoising,        // write the text again without noise (BART)
  gap_sentences,    // write the sentences that say most of the others (PEGASUS)
};
/// "span-corruption", "ul2", "denoising", "gap-sentences".
ChoiceNames choice_names(DenoisingObjective);

struct DenoisingOptions {
  DenoisingObjective objective = DenoisingObjective::span_corruption;
  std::int64_t passage = 128;  // most tokens of the text that is hidden in
  double mean_span = 3;        // tokens; of span_corruption, and of what is infilled by denoising
  double density = 0.15;       // span_corruption: share of the tokens that is hidden
  // denoising, in this order; the defaults are those of BART's large models, whose noise is
  // infilling and permutation:
  bool permute_sentences = true;
  bool rotate = false;       // the text begins at any of its tokens
  double infill_rate = 0.3;  // share of tokens that is hidden in spans, each behind one mask
  double mask_rate = 0;      // of what is left then: share that is masked one by one
  double delete_rate = 0;    // and share that is left out
  double gap_ratio = 0.3;    // gap_sentences: share of the sentences that is hidden, at least one

  /// Whether sentences are moved or hidden as such; else ids are all that counts.
  bool reads_sentences() const;
  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<DenoisingOptions>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static DenoisingOptions from_json(std::string_view json);
  friend bool operator==(const DenoisingOptions&, const DenoisingOptions&) = default;
};

/// Names of the fields that mean something for an objective, besides `objective` and `passage`.
std::vector<std::string> fields_of(DenoisingObjective objective);
/// Sentences that a passage must have.
std::int64_t least_sentences(DenoisingObjective objective);

/// What a tokenizer must have as symbols: "<extra_id_99>" down to "<extra_id_0>", or as many as
/// passages of that length can need; "[R]", "[S]" and "[X]", the modes of ul2; "<mask>".
std::vector<std::string> denoising_symbols(const DenoisingOptions& options);

/// Passages to inputs and targets that end with the tokenizer's eos. Immutable.
class Denoiser {
 public:
  /// Throws ArgumentError as check(), and for a tokenizer that lacks a symbol or an end.
  Denoiser(const DenoisingOptions& options, const Tokenizer& tokenizer);

  const DenoisingOptions& options() const { return options_; }
  /// `sentences` have 2 ids or more together and are as many as least_sentences() says
  /// (ArgumentError). A function of them and the seed.
  DenoisingExample operator()(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

 private:
  DenoisingExample noisy(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

  DenoisingOptions options_;
  std::int64_t eos_id_, mask_id_ = -1, sentinels_ = 0, first_sentinel_ = -1;
  std::int64_t regular_id_ = -1, sequential_id_ = -1, extreme_id_ = -1;
};

}  // namespace weft
