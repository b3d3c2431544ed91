// Token files as something to learn from: several sets, each as often as is asked for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/tokens/token_sequence.h"
#include "weft/models/data/tokens/token_set.h"

namespace WEFT_API weft {

/// "corpus", or "corpus=0.7": a path and a weight.
struct SourceName {
  std::string path;
  std::optional<double> weight = {};
};
/// What stands behind the last "=" is a weight where the path in front of it names token files, and
/// all of it does not. Throws ArgumentError for one that is no positive number.
SourceName parse_source(const std::string& text);

/// Whether a text that people give for what to learn from names token files.
bool names_token_set(const std::string& text);

struct TokenSource {
  TokenSet set;
  double weight = 1;  // relative to the others
};
/// Opens all. Without weights every id is as likely as any other. Throws as TokenSet::open;
/// ArgumentError where some have a weight and others have none, DataError where two have different
/// tokenizers.
std::vector<TokenSource> open_token_sources(std::span<const std::string> names);

/// A set in what trains, in front, and what validates.
struct TokenSplit {
  TokenPart train, validation;
  std::int64_t validation_bytes = 0;  // of text
};
/// About `validation_fraction` of the bytes of text validate: from the beginning of a document on,
/// or, of long documents, from a mark on. The place is a function of the text, whatever the
/// tokenizer. Throws ArgumentError as training_part; DataError where nothing would be left to train
/// on.
TokenSplit split_tokens(const TokenSet& set, double validation_fraction);

}  // namespace weft
