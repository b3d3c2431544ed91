// Fill-mask inference: predicts the masked tokens of texts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"

namespace WEFT_API weft {

/// Returns the most likely tokens for every mask of every text, without special tokens.
/// Probabilities are taken over all ids of the vocabulary. A mask is written "[MASK]", or as the
/// tokenizer spells it. `session` runs the model's graph with its store. Throws FormatError if the
/// tokenizer has no mask token, and TextError for a text without a mask, for a text that is too
/// long if options.on_cut is empty, and for a text with a mask beyond the truncation.
std::vector<std::vector<MaskedPosition>> fill(Session& session, const PretrainingModel& model,
                                              std::span<const std::string> texts,
                                              const FillOptions& options = {});

}  // namespace weft
