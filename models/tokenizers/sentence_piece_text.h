// How SentencePiece sees a text before it cuts it.
#pragma once

#include <string>
#include <string_view>

namespace weft::sentence_piece {

/// U+2581, which stands for a blank.
inline constexpr std::string_view kBlank = "\xE2\x96\x81";

/// The words of `text`, each with kBlank in front, nothing between them: "a  b " -> "_a_b". Throws
/// FormatError for invalid UTF-8.
std::string normalise(std::string_view text);

}  // namespace weft::sentence_piece
