// Training data from one or several token sets with sampling weights.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/tokens/token_sequence.h"
#include "weft/models/text/tokens/token_set.h"

namespace WEFT_API weft {

/// A path with an optional weight, such as "corpus" or "corpus=0.7".
struct SourceName {
  std::string path;
  std::optional<double> weight = {};
};
/// Parses a source. The text after the last "=" is a weight if the text before it is the path of a
/// token set and the whole text is not. Throws ArgumentError if the weight is not a positive
/// number.
SourceName parse_source(const std::string& text);

/// Returns true if a data argument refers to token files.
bool names_token_set(const std::string& text);

struct TokenSource {
  TokenSet set;
  double weight = 1;  // relative to the other sources
};
/// Opens all sets. Without weights, every id has the same probability. Throws the same errors as
/// TokenSet::open(). Throws ArgumentError if only some sets have a weight. Throws DataError if two
/// sets have different tokenizers.
std::vector<TokenSource> open_token_sources(std::span<const std::string> names);

/// A set split into a training part at the front and a validation part.
struct TokenSplit {
  TokenPart train, validation;
  std::int64_t validation_bytes = 0;  // bytes of text in the validation part
};
/// Holds out about `validation_fraction` of the bytes of text at the end of the set. The validation
/// part starts at the beginning of a document or, inside long documents, at a mark. The position is
/// a function of the text and does not depend on the tokenizer. Throws ArgumentError under the same
/// conditions as training_part(). Throws DataError if nothing would be left to train on.
TokenSplit split_tokens(const TokenSet& set, double validation_fraction);

}  // namespace weft
