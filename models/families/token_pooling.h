// Pooling of token vectors into one vector per text.
#pragma once

#include <cstdint>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/models/fields/choice.h"

namespace WEFT_API weft {

/// How token vectors are pooled into one vector per text. The names are those of Sentence
/// Transformers.
enum class TextPooling : std::uint8_t {
  mean,                  // the mean over all tokens, including special tokens
  cls,                   // the first token
  max,                   // the maximum of every feature over all tokens
  mean_sqrt_len_tokens,  // the sum over all tokens, divided by the square root of their number
  weightedmean,          // the mean over all tokens, weighted by their position (1, 2, ...)
  lasttoken,             // the last token
};
/// "mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken".
ChoiceNames choice_names(TextPooling);

/// Pools h [batch, seq, width] to [batch, width]. `mask` [batch, seq] is 1 for the tokens that are
/// pooled; every row needs at least one of them. If `all` is true, the first token of every row is
/// pooled. Otherwise, tokens at the beginning may be excluded, and the first token is the first one
/// that is pooled; positions count from the beginning of the row nevertheless.
Value pool_tokens(TextPooling pooling, Value h, Value mask, bool all = true,
                  SourceLocation loc = SourceLocation::current());

/// Pools texts without padding: h [1, total, width], in which text t is the range [offsets[t],
/// offsets[t + 1]) -> [texts, width]. No text may be empty. `mask` i32 [1, total] is 1 for the
/// tokens that are pooled, of which every text needs one; undefined, all tokens are pooled.
Value pool_texts(TextPooling pooling, Value h, Value offsets, Value mask = {},
                 SourceLocation loc = SourceLocation::current());

}  // namespace weft
