// Handwritten implementations of well-known split patterns, which are several times faster than
// regular expressions.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/core/function_ref.h"

namespace WEFT_API weft {

/// Called for each part of a text with the range [begin, end) of its bytes.
using EmitPart = FunctionRef<void(std::size_t begin, std::size_t end)>;
/// Splits valid UTF-8 into parts that together cover the whole text.
using SplitFunction = void (*)(std::string_view text, EmitPart emit);

/// Splits with GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+.
void split_as_gpt2(std::string_view text, EmitPart emit);
/// Splits with the pattern of GPT-4 and LLaMA 3: digits form groups of up to three, a symbol before
/// a word is part of the word, and line breaks after punctuation are part of the punctuation.
void split_as_gpt4(std::string_view text, EmitPart emit);
/// Splits with Qwen's pattern, which is the same as GPT-4's except that each digit is a separate
/// part.
void split_as_qwen(std::string_view text, EmitPart emit);

/// A pattern and the function that splits texts with it.
struct KnownPattern {
  std::string_view pattern;
  SplitFunction cut;
};
/// Returns the function for exactly this pattern, or null if there is none.
SplitFunction find_known_pattern(std::string_view pattern);
/// Returns all known patterns, for tests.
const KnownPattern* begin_known_patterns();
const KnownPattern* end_known_patterns();

}  // namespace weft
