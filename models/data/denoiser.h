// Denoising objectives for pre-training encoder-decoder models: settings, and the symbols that the
// tokenizer needs. denoising.h implements the objectives.
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
  // Generate the hidden spans (T5).
  span_corruption,
  // UL2's mixture: span corruption with few or many hidden tokens, or continuation of a text.
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
  /// Maximum number of tokens of a passage, before corruption.
  std::int64_t passage = 128;
  /// Mean span length in tokens for span_corruption, and for infilling in denoising.
  double mean_span = 3;
  /// span_corruption: fraction of the tokens that are hidden.
  double density = 0.15;
  // denoising applies these noises in this order. The defaults are those of BART's large models,
  // whose noise is infilling and sentence permutation.
  bool permute_sentences = true;
  bool rotate = false;  // rotate the text to start at a random token
  /// Fraction of tokens that are hidden in spans, each replaced by one mask.
  double infill_rate = 0.3;
  /// Fraction of the remaining tokens that are masked individually.
  double mask_rate = 0;
  double delete_rate = 0;  // fraction of the tokens that are deleted after that
  /// gap_sentences: fraction of the sentences that are hidden, at least one.
  double gap_ratio = 0.3;

  /// Returns true if the objective moves or hides whole sentences. Otherwise it needs only a
  /// sequence of ids.
  bool reads_sentences() const;
  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<DenoisingOptions>& fields();
  std::string to_json() const;
  /// Throws FormatError for a field that is missing, unknown or of the wrong type, ArgumentError as
  /// check().
  static DenoisingOptions from_json(std::string_view json);
  friend bool operator==(const DenoisingOptions&, const DenoisingOptions&) = default;
};

/// Returns the names of the fields that an objective uses, apart from `objective` and `passage`.
std::vector<std::string> fields_of(DenoisingObjective objective);
/// Returns the minimum number of sentences of a passage.
std::int64_t min_sentences(DenoisingObjective objective);

/// Returns the symbols that the tokenizer must have: for span_corruption and ul2 the sentinels
/// "<extra_id_99>" down to "<extra_id_0>", or more if passages of this length can need them; for
/// ul2 also its modes "[R]", "[S]" and "[X]"; for the other objectives "<mask>".
std::vector<std::string> denoising_symbols(const DenoisingOptions& options);

/// Converts passages to inputs and targets that end with the tokenizer's end-of-text id. Immutable.
class Denoiser {
 public:
  /// Throws ArgumentError as check(), and for a tokenizer without one of the symbols or an
  /// end-of-text id.
  Denoiser(const DenoisingOptions& options, const Tokenizer& tokenizer);

  const DenoisingOptions& options() const { return options_; }
  /// Corrupts a passage. The result is a function of `sentences` and `seed`. Throws ArgumentError
  /// if the sentences have fewer than 2 ids in total or are fewer than min_sentences().
  DenoisingExample operator()(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

 private:
  DenoisingExample noisy(const std::vector<TokenIds>& sentences, std::uint64_t seed) const;

  DenoisingOptions options_;
  std::int64_t eos_id_, mask_id_ = -1, sentinels_ = 0, first_sentinel_ = -1;
  std::int64_t regular_id_ = -1, sequential_id_ = -1, extreme_id_ = -1;
};

}  // namespace weft
