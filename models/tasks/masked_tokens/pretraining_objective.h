// Pre-training objectives for encoders, and their options.
#pragma once

#include <cstdint>

#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

enum class PretrainingObjective : std::uint8_t {
  mlm,      // predict masked tokens (RoBERTa, Liu et al. 2019)
  mlm_nsp,  // mlm and next-sentence prediction (BERT, Devlin et al. 2019)
  mlm_sop,  // mlm and sentence-order prediction (ALBERT, Lan et al. 2020)
  rtd,      // replaced-token detection (ELECTRA, Clark et al. 2020)
};
/// "mlm", "mlm+nsp", "mlm+sop", "rtd".
ChoiceNames choice_names(PretrainingObjective);

/// Returns true if the inputs are segment pairs.
inline bool reads_pairs(PretrainingObjective objective) {
  return objective == PretrainingObjective::mlm_nsp || objective == PretrainingObjective::mlm_sop;
}

struct PretrainingOptions {
  PretrainingObjective objective = PretrainingObjective::mlm;
  bool whole_words = false;  // mask all tokens of a word together
  double mask_rate = 0.15;   // fraction of the tokens that are predicted; ModernBERT: 0.3
  /// For rtd: width of the generator as a fraction of the encoder width; see generator_config().
  double generator_share = 0.25;
  /// For rtd: weight of the detection loss. The generator loss has weight 1.
  double replaced_weight = 50;

  /// Throws an ArgumentError that names the field, its value and the allowed values.
  void check() const;
  /// Returns all fields with their help texts.
  static const FieldList<PretrainingOptions>& fields();
  friend bool operator==(const PretrainingOptions&, const PretrainingOptions&) = default;
};

}  // namespace weft
