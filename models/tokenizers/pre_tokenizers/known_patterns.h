// Handwritten implementations of well-known split patterns, several times as fast as a regular
// expression.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/core/parallel.h"

namespace WEFT_API weft {

/// Receives bytes [begin, end) of a text as a part.
using EmitPart = FunctionRef<void(std::size_t begin, std::size_t end)>;
/// Splits valid UTF-8 into parts that cover all of it.
using SplitFunction = void (*)(std::string_view text, EmitPart emit);

/// GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+.
void split_as_gpt2(std::string_view text, EmitPart emit);
/// The pattern of GPT-4 and LLaMA 3: digits in groups of up to three, a symbol in front of a word
/// is part of the word, line breaks after punctuation are part of the punctuation.
void split_as_gpt4(std::string_view text, EmitPart emit);
/// Qwen's pattern: as GPT-4's, with each digit separate.
void split_as_qwen(std::string_view text, EmitPart emit);

/// A pattern and the function that splits a text at it.
struct KnownPattern {
  std::string_view pattern;
  SplitFunction cut;
};
/// Returns the function for exactly this pattern, or null if it is unknown.
SplitFunction find_known_pattern(std::string_view pattern);
/// All known patterns, for tests.
const KnownPattern* begin_known_patterns();
const KnownPattern* end_known_patterns();

}  // namespace weft
