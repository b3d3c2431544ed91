// Opens token files for tasks, and splits them into training and validation sets.
#pragma once

#include <string>
#include <vector>

#include "weft/models/tasks/common/task.h"
#include "weft/models/text/tokens/token_set_parts.h"
#include "weft/models/text/tokens/token_sources.h"

namespace WEFT_API weft {

/// Help text for options that accept token files.
inline constexpr const char* kTokenFilesHelp =
    "token files made by weft data tokenize, with sampling weights if there are several: "
    "corpus=0.7";

/// Opens the token files in `paths`; returns an empty list if all paths are text files. Throws
/// ArgumentError if only some paths are token files. Also throws the same exceptions as
/// open_token_sources.
std::vector<TokenSource> token_sources(const std::vector<std::string>& paths);

/// Returns the tokenizer that the token files were made with. Initial weights must have the same
/// tokenizer; if their tokenizer cannot be read, it is assumed to be the same. Throws ArgumentError
/// if --tokenizer or --vocab was given, and DataError under the same conditions as
/// require_tokenizer.
Tokenizer tokenizer_of(const std::vector<TokenSource>& sources, const TaskArguments& args);

/// Training and validation sets of token files.
struct TokenSetSplit {
  std::vector<TokenSetPart> train, validation;
};
/// Splits every source: a fraction of about `validation_fraction` at its end is for validation, the
/// rest for training. `tokenizer` is the tokenizer of the model. Throws DataError if a source has
/// another tokenizer. Also throws the same exceptions as split_tokens.
TokenSetSplit split_sources(const std::vector<TokenSource>& sources, const Tokenizer& tokenizer,
                            double validation_fraction);

}  // namespace weft
