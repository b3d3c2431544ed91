// Functions that count the words of texts.
#pragma once

#include <string_view>

#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/text/tokenizers/train/text_source.h"
#include "weft/models/text/tokenizers/train/word_table.h"

namespace WEFT_API weft {

/// Adds the words of a part of a text to `words`. `slot` is the index of the worker slot.
using CountPart = FunctionRef<void(std::string_view part, WordTable& words, int slot)>;
/// Calls `count` for each part of `texts`, on all threads, and returns the combined table. The
/// words and counts do not depend on the number of threads, but their order does.
WordTable count_parts(TextSource& texts, Workers& workers, CountPart count);

/// Counts the words that the model of a SubwordTokenizer with these components would receive for
/// `texts`. Each component may be null. The words are raw bytes if `takes_bytes` is true and the
/// pre-tokenizer is byte-level. Each ill-formed subsequence of UTF-8 is replaced by U+FFFD.
WordTable count_words(TextSource& texts, const NormalizerPtr& normalizer,
                      const PreTokenizerPtr& pre_tokenizer, bool takes_bytes, Workers& workers);

}  // namespace weft
