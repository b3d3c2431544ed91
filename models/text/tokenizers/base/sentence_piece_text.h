// Whitespace normalisation for SentencePiece models trained by Weft.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/special_ids.h"

namespace WEFT_API weft {
namespace sentence_piece {

/// U+2581, the character that represents a space in pieces.
inline constexpr std::string_view kBlank = "\xE2\x96\x81";
inline constexpr char32_t kBlankCharacter = 0x2581;

/// Returns the words of `text`, each preceded by kBlank and without separators: "a  b " -> "_a_b"
/// (with "_" for kBlank). For TextPlace::middle, no kBlank is inserted before a word at the start
/// of `text`. If `origins` is not null, it is set to the offsets in `text` that correspond to each
/// byte of the result and to its end. Throws FormatError for invalid UTF-8.
std::string normalise(std::string_view text, TextPlace place = TextPlace::beginning,
                      std::vector<std::uint32_t>* origins = nullptr);

/// Returns `text` with each space (U+0020 only, no tabs) replaced by kBlank and, for
/// TextPlace::beginning, preceded by one kBlank: "a  b " -> "_a__b_". The mapping is lossless.
/// `origins` is set, and exceptions are thrown, in the same way as by normalise().
std::string with_all_whitespace(std::string_view text, TextPlace place = TextPlace::beginning,
                                std::vector<std::uint32_t>* origins = nullptr);

}  // namespace sentence_piece
}  // namespace weft
