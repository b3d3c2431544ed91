// Token files for tasks: opening them, and splitting them into training and validation sets.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/tokens/token_set_parts.h"
#include "weft/models/data/tokens/token_sources.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Help for options that take token files.
inline constexpr const char* kTokenFilesHelp =
    "token files made by weft data tokenize, with sampling weights if there are several: "
    "corpus=0.7";

/// Opens the token files that `paths` name; returns none if all paths are texts. Throws
/// ArgumentError if only some paths are token files, and the same exceptions as open_token_sources.
std::vector<TokenSource> token_sources(const std::vector<std::string>& paths);

/// Returns the tokenizer that the token files were made with. Weights to start from must have the
/// same tokenizer; if theirs cannot be read, it is assumed to be this one. Throws ArgumentError if
/// --tokenizer or --vocab was given, DataError as require_tokenizer.
Tokenizer tokenizer_of(const std::vector<TokenSource>& sources, const TaskArguments& args);

/// Training and validation sets of token files.
struct TokenSetSplit {
  std::vector<TokenSetPart> train, validation;
};
/// Splits every source: about `validation_fraction` at its end is for validation, the rest for
/// training. Throws DataError if the tokenizer of a source is not `tokenizer`, that of the model,
/// and the same exceptions as split_tokens.
TokenSetSplit split_sources(const std::vector<TokenSource>& sources, const Tokenizer& tokenizer,
                            double validation_fraction);

}  // namespace weft
