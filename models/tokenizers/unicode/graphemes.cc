#include "weft/models/tokenizers/unicode/graphemes.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <memory>

#include "weft/core/error.h"

namespace weft {

void for_each_grapheme(std::string_view text, FunctionRef<void(std::string_view)> visit) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UText, decltype(&utext_close)> source(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status),
      utext_close);
  const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks(
      ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status), ubrk_close);
  ubrk_setUText(breaks.get(), source.get(), &status);
  if (U_FAILURE(status)) throw StateError("ICU has no data for the bounds of characters");
  std::int32_t begin = ubrk_first(breaks.get());
  for (std::int32_t end = ubrk_next(breaks.get()); end != UBRK_DONE;
       begin = end, end = ubrk_next(breaks.get()))
    visit(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

}  // namespace weft
