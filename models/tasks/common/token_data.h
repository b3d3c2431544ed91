// Token files for tasks: which are given, what trains and what validates.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/tokens/token_set_parts.h"
#include "weft/models/data/tokens/token_sources.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// What options that take them say of them.
inline constexpr const char* kTokenFilesHelp =
    "token files as weft data tokenize makes them, with weights where there are several: "
    "corpus=0.7";

/// The token files that `paths` name; none where all are texts. Throws ArgumentError where only
/// some are, and as open_token_sources.
std::vector<TokenSource> token_sources(const std::vector<std::string>& paths);

/// Token files have the tokenizer that they were made with. Weights to start from must have the
/// same; where they have none that can be read, it is taken for theirs. Throws ArgumentError for
/// --tokenizer and --vocab, DataError as require_tokenizer.
Tokenizer tokenizer_of(const std::vector<TokenSource>& sources, const TaskArguments& args);

struct TokenSetSplit {
  std::vector<TokenSetPart> train, validation;
};
/// Each in front, and about `validation_fraction` behind. Throws DataError where their tokenizer is
/// not `tokenizer`, that of the model, and as split_tokens.
TokenSetSplit split_sources(const std::vector<TokenSource>& sources, const Tokenizer& tokenizer,
                            double validation_fraction);

}  // namespace weft
