// What may stand in the hidden places of texts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/masked_tokens/pretraining.h"

namespace WEFT_API weft {

/// For every hidden place of every text the likeliest pieces, special ones left out, with their
/// probabilities among all ids. A text says "[MASK]", or what the tokenizer calls it, where it
/// hides something. `session` runs the model's graph over its store. Throws FormatError where the
/// tokenizer hides nothing (it has no such id), TextError for a text without a hidden place, for
/// one that is too long where nobody listens, or that hides something behind the cut.
std::vector<std::vector<HiddenPlace>> fill(Session& session, const PretrainingModel& model,
                                           std::span<const std::string> texts,
                                           const FillOptions& options = {});

}  // namespace weft
