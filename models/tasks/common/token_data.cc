#include "weft/models/tasks/common/token_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/tasks/common/tokenizer_choice.h"

namespace weft {

std::vector<TokenSource> token_sources(const std::vector<std::string>& paths) {
  const auto tokens = std::find_if(paths.begin(), paths.end(), names_token_set);
  if (tokens == paths.end()) return {};
  if (!std::all_of(paths.begin(), paths.end(), names_token_set)) {
    throw ArgumentError(
        fmt::format("{} is a token file: token files and text files cannot be mixed", *tokens));
  }
  return open_token_sources(paths);
}

Tokenizer tokenizer_of(const std::vector<TokenSource>& sources, const TaskArguments& args) {
  const TokenSet& set = sources.front().set;
  for (const char* option : {kTokenizerOption, kVocabOption}) {
    if (args.options.has(option)) {
      throw ArgumentError(
          fmt::format("{} cannot be used with token files: they already contain the tokenizer that "
                      "they were made with",
                      option));
    }
  }
  if (args.from && args.from->text.tokenizer)
    require_tokenizer(set, *args.from->text.tokenizer, args.from->source);
  return set.tokenizer();
}

TokenSetSplit split_sources(const std::vector<TokenSource>& sources, const Tokenizer& tokenizer,
                            double validation_fraction) {
  TokenSetSplit parts;
  for (const TokenSource& source : sources) {
    require_tokenizer(source.set, tokenizer, "the model");
    const TokenSplit split = split_tokens(source.set, validation_fraction);
    parts.train.push_back({source.set, split.train.begin, split.train.size, source.weight});
    if (split.validation.size > 0)
      parts.validation.push_back({source.set, split.validation.begin, split.validation.size});
  }
  return parts;
}

}  // namespace weft
