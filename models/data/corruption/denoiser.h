// Settings of the denoising objectives for pre-training encoder-decoder models, and the symbols
// that the tokenizer needs. The objectives are implemented in denoising.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/data/corruption/denoising.h"
#include "weft/models/fields/field_list.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

enum class DenoisingObjective : std::uint8_t {
  // Generate the masked spans (T5).
  span_corruption,
  // UL2's mixture: span corruption with few or many masked tokens, or continuation of a text.
  ul2,
  // Reconstruct the text without noise (BART).
  denoising,
  // Generate the sentences that are most similar to the rest of the text (PEGASUS).
  gap_sentences,
};
/// The names are "span-corruption", "ul2", "denoising" and "gap-sentences".
ChoiceNames choice_names(DenoisingObjective);

struct DenoisingOptions {
  DenoisingObjective objective = DenoisingObjective::span_corruption;
  /// Maximum number of tokens per passage, before corruption.
  std::int64_t passage = 128;
  /// Mean span length in tokens for span_corruption, and for infilling in denoising.
  double mean_span = 3;
  /// For span_corruption: fraction of the tokens that are masked.
  double density = 0.15;
  // Noise types of `denoising`, in the order in which they are applied. The defaults are the
  // settings of BART's large models, which use infilling and sentence permutation.
  bool permute_sentences = true;
  bool rotate = false;  // rotate the text to start at a random token
  /// Fraction of the tokens that are masked in spans. Each span is replaced by one mask token.
  double infill_rate = 0.3;
  /// Fraction of the remaining tokens that are masked individually.
  double mask_rate = 0;
  double delete_rate = 0;  // fraction of the tokens that are deleted after masking
  /// For gap_sentences: fraction of the sentences that are masked. At least one sentence is masked.
  double gap_ratio = 0.3;

  /// Returns true if the objective moves or masks whole sentences. Otherwise the objective needs
  /// only a sequence of ids.
  bool reads_sentences() const;
  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<DenoisingOptions>& fields();
  friend bool operator==(const DenoisingOptions&, const DenoisingOptions&) = default;
};

/// Returns the names of the fields that an objective uses, apart from `objective` and `passage`.
std::vector<std::string> fields_of(DenoisingObjective objective);
/// Returns the minimum number of sentences per passage.
std::int64_t min_sentences(DenoisingObjective objective);

/// Returns the symbols that the tokenizer must have. For span_corruption and ul2, these are the
/// sentinels "<extra_id_99>" down to "<extra_id_0>", or more sentinels if passages of this length
/// can need them. For ul2, the mode symbols "[R]", "[S]" and "[X]" are also needed. For the other
/// objectives, the only symbol is "<mask>".
std::vector<std::string> denoising_symbols(const DenoisingOptions& options);

/// Converts passages to inputs and targets that end with the tokenizer's end-of-text id. Immutable.
class Denoiser {
 public:
  /// Throws ArgumentError under the same conditions as DenoisingOptions::check(). Also throws
  /// ArgumentError if the tokenizer lacks one of the symbols or an end-of-text id.
  Denoiser(const DenoisingOptions& options, const Tokenizer& tokenizer);

  const DenoisingOptions& options() const { return options_; }
  /// Corrupts a passage. The result is a function of `sentences` and `seed`. Throws ArgumentError
  /// if the sentences have fewer than 2 ids in total, or if there are fewer sentences than
  /// min_sentences().
  DenoisingExample operator()(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

 private:
  DenoisingExample noisy(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

  DenoisingOptions options_;
  std::int64_t eos_id_, mask_id_ = -1, sentinels_ = 0, first_sentinel_ = -1;
  std::int64_t regular_id_ = -1, sequential_id_ = -1, extreme_id_ = -1;
};

}  // namespace weft
