// The well-known split patterns, by hand: several times as fast as a regular expression.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/core/parallel.h"

namespace WEFT_API weft {

/// Bytes [begin, end) of a text.
using EmitPart = FunctionRef<void(std::size_t begin, std::size_t end)>;
/// Cuts valid UTF-8 into parts that are, together, all of it.
using CutByPattern = void (*)(std::string_view text, EmitPart emit);

/// GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+.
void cut_as_gpt2(std::string_view text, EmitPart emit);
/// GPT-4's and LLaMA-3's: digits by threes, a sign in front of a word is part of it, line ends
/// behind signs are part of these.
void cut_as_gpt4(std::string_view text, EmitPart emit);
/// Qwen's: the same with digits one by one.
void cut_as_qwen(std::string_view text, EmitPart emit);

/// A pattern and the function that cuts at it.
struct KnownPattern {
  std::string_view pattern;
  CutByPattern cut;
};
/// The function for exactly this pattern; null where it is not known.
CutByPattern find_known_pattern(std::string_view pattern);
/// All of them, for tests.
const KnownPattern* begin_known_patterns();
const KnownPattern* end_known_patterns();

}  // namespace weft
