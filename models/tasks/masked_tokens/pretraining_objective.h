// What an encoder is pre-trained to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

enum class PretrainingObjective : std::uint8_t {
  mlm,      // find hidden tokens (RoBERTa, Liu et al. 2019)
  mlm_nsp,  // ... and tell whether two segments follow each other (BERT, Devlin et al. 2019)
  mlm_sop,  // ... and in which order two segments stand (ALBERT, Lan et al. 2020)
  rtd,      // find tokens that a generator replaced (ELECTRA, Clark et al. 2020)
};
/// "mlm", "mlm+nsp", "mlm+sop", "rtd".
ChoiceNames choice_names(PretrainingObjective);

/// True where inputs are pairs of segments.
inline bool reads_pairs(PretrainingObjective objective) {
  return objective == PretrainingObjective::mlm_nsp || objective == PretrainingObjective::mlm_sop;
}

struct PretrainingOptions {
  PretrainingObjective objective = PretrainingObjective::mlm;
  bool whole_words = false;  // all tokens of a word are hidden together
  // Of rtd only:
  double generator_share = 0.25;  // of the encoder's width (generator_config() says more)
  double replaced_weight = 50;    // of the loss of finding them, beside the generator's loss

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<PretrainingOptions>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static PretrainingOptions from_json(std::string_view json);
  friend bool operator==(const PretrainingOptions&, const PretrainingOptions&) = default;
};

}  // namespace weft
