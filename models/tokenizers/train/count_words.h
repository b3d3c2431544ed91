// The words of texts, counted.
#pragma once

#include <string_view>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "weft/models/tokenizers/train/text_source.h"
#include "weft/models/tokenizers/train/word_table.h"

namespace WEFT_API weft {

/// Counts what `count` adds for every part of `texts`, on all threads: count(part, words, slot),
/// the slot as Workers say. Words and counts, but not their order, are the same for any number of
/// threads.
using CountPart = FunctionRef<void(std::string_view part, WordTable& words, int slot)>;
WordTable count_parts(TextSource& texts, Workers& workers, CountPart count);

/// Counts what a SubwordTokenizer with these parts (each may be null) would make of `texts`: the
/// words that its model gets; bytes, where `takes_bytes` and the pre-tokenizer is byte-level. Each
/// broken part of what is no UTF-8 counts as U+FFFD.
WordTable count_words(TextSource& texts, const NormalizerPtr& normalizer,
                      const PreTokenizerPtr& pre_tokenizer, bool takes_bytes, Workers& workers);

}  // namespace weft
