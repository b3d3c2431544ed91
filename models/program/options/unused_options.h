// Rejection of generation options that would have no effect.
#pragma once

#include <vector>

#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/tasks/common/text_generator.h"

namespace weft::program {

/// Throws UsageError if --truncate was given, but texts of any length fit: the model has no maximum
/// length, or (`slides`) the window moves with the text.
void refuse_unused_truncation(const TruncateOption& truncate, const TextGenerator& generator,
                              bool slides = false);

/// Throws UsageError for the first option on the command line that cannot change the output for
/// one of the `prompts`, for example a forced id inside the prompt or after the last position.
/// `options` are the options for all prompts; `place` names a prompt.
void refuse_unused(const GenerateArguments& args, const TextGenerator& generator,
                   const std::vector<TokenIds>& prompts, const GenerationOptions& options,
                   const PlaceOf& place);

}  // namespace weft::program
