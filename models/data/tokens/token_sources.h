// Token sets as training data: several sets with sampling weights.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/data/tokens/token_sequence.h"
#include "weft/models/data/tokens/token_set.h"

namespace WEFT_API weft {

/// A path with an optional weight: "corpus" or "corpus=0.7".
struct SourceName {
  std::string path;
  std::optional<double> weight = {};
};
/// Parses a source. The text after the last "=" is a weight if the path before it names a token set
/// and the whole text does not. Throws ArgumentError for a weight that is not a positive number.
SourceName parse_source(const std::string& text);

/// Returns true if a data argument names token files.
bool names_token_set(const std::string& text);

struct TokenSource {
  TokenSet set;
  double weight = 1;  // relative to the others
};
/// Opens all sets. Without weights, every id has the same probability. Throws as TokenSet::open();
/// ArgumentError if only some have a weight, DataError if two have different tokenizers.
std::vector<TokenSource> open_token_sources(std::span<const std::string> names);

/// A set split into a training part at the front and a validation part.
struct TokenSplit {
  TokenPart train, validation;
  std::int64_t validation_bytes = 0;  // bytes of text in the validation part
};
/// Holds out about `validation_fraction` of the bytes of text at the end of the set. The validation
/// part starts at the beginning of a document or, inside long documents, at a mark. The position is
/// a function of the text and does not depend on the tokenizer. Throws ArgumentError as
/// training_part(); DataError if nothing would be left to train on.
TokenSplit split_tokens(const TokenSet& set, double validation_fraction);

}  // namespace weft
