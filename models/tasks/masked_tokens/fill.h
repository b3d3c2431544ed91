// Fill-mask inference: predicts the masked tokens of texts.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/uses.h"

namespace WEFT_API weft {

/// Returns the most likely tokens for every mask in every text, excluding special tokens.
/// Probabilities are relative to the whole vocabulary. A mask is written as "[MASK]" or in the
/// spelling of the tokenizer. `session` must run the model's graph with its store. Throws
/// FormatError if the tokenizer has no mask token. A blank text has no masks and no results. Throws
/// TextError if any other text has no mask, if a text is too long and options.on_cut is empty, or
/// if truncation removes a mask. Throws FormatError if the model does not predict masked tokens.
/// weft fill prints the result.
std::vector<std::vector<MaskedPosition>> fill(Session& session, const TrainedModel& model,
                                              const std::vector<std::string>& texts,
                                              const FillOptions& options = {});

}  // namespace weft
