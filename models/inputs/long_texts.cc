#include "weft/models/inputs/long_texts.h"

#include <fmt/format.h>

namespace weft {

TextError::TextError(std::size_t text, const std::string& reason)
    : DataError(fmt::format("text {}: {}", text + 1, reason)), text_(text), reason_(reason) {}

void TextError::rethrow_as(const std::string& message) const { throw DataError(message); }

void report_truncation(const CutText& cut, const OnCut& on_cut, std::string_view reader) {
  if (on_cut) return on_cut(cut);
  throw TextError(cut.text, fmt::format("it has {} tokens, but {} at most {} (use --truncate)",
                                        cut.tokens, reader, cut.kept));
}

}  // namespace weft
