// How SentencePiece sees a text before it cuts it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/special_ids.h"

namespace WEFT_API weft {
namespace sentence_piece {

/// U+2581, which stands for a blank.
inline constexpr std::string_view kBlank = "\xE2\x96\x81";
inline constexpr char32_t kBlankCharacter = 0x2581;

/// The words of `text`, each with kBlank in front, nothing between them: "a  b " -> "_a_b". One
/// that stands in the middle of a text and begins with a word begins without kBlank. `origins`,
/// where given, gets for each byte of the result, and its end, where in `text` it came from. Throws
/// FormatError for invalid UTF-8.
std::string normalise(std::string_view text, TextPlace place = TextPlace::beginning,
                      std::vector<std::uint32_t>* origins = nullptr);

/// `text` with kBlank for every blank (a tab is none), and one in front where a text begins: "a  b
/// " -> "_a__b_". Nothing is lost. Origins and errors as above.
std::string with_all_whitespace(std::string_view text, TextPlace place = TextPlace::beginning,
                                std::vector<std::uint32_t>* origins = nullptr);

}  // namespace sentence_piece
}  // namespace weft
