#include "weft/models/tasks/masked_tokens/pretraining_objective.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kObjectives[] = {"mlm", "mlm+nsp", "mlm+sop", "rtd"};

}  // namespace

ChoiceNames choice_names(PretrainingObjective) { return {"objective", kObjectives}; }

void PretrainingOptions::check() const {
  if (!(mask_rate > 0 && mask_rate <= 1))
    throw ArgumentError(fmt::format("mask_rate must be in (0, 1], not {}", mask_rate));
  if (!(generator_share > 0 && generator_share <= 1))
    throw ArgumentError(fmt::format("generator_share must be in (0, 1], not {}", generator_share));
  if (!(replaced_weight > 0 && replaced_weight <= 1e6))
    throw ArgumentError(
        fmt::format("replaced_weight must be in (0, 1000000], not {}", replaced_weight));
}

const FieldList<PretrainingOptions>& PretrainingOptions::fields() {
  static const auto list =
      FieldList<PretrainingOptions>("the pre-training options")
          .add("objective", &PretrainingOptions::objective, "pre-training objective")
          .add("whole_words", &PretrainingOptions::whole_words,
               "mask all tokens of a word together")
          .added("mask_rate", &PretrainingOptions::mask_rate,
                 "fraction of the tokens that are masked and predicted (ModernBERT: 0.3)")
          .add("generator_share", &PretrainingOptions::generator_share,
               "width of the generator as a fraction of the width of the encoder")
          .add("replaced_weight", &PretrainingOptions::replaced_weight,
               "weight of the loss for detecting replaced tokens; the generator loss has weight 1");
  return list;
}

}  // namespace weft
