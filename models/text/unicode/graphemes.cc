#include "weft/models/text/unicode/graphemes.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <bitset>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr char32_t kBmp = 0x10000;  // number of characters in the Basic Multilingual Plane

bool find_alone(char32_t c) {
  const auto breaks = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK);
  return breaks == U_GCB_OTHER || breaks == U_GCB_CONTROL || breaks == U_GCB_LF;
}

}  // namespace

struct Graphemes::Iterator {
  Iterator() {
    UErrorCode status = U_ZERO_ERROR;
    breaks = ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status);
    if (U_FAILURE(status)) throw StateError("ICU has no data for grapheme boundaries");
  }
  ~Iterator() {
    ubrk_close(breaks);
    utext_close(text);
  }
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  UBreakIterator* breaks = nullptr;
  UText* text = nullptr;
};

Graphemes::Graphemes() = default;
Graphemes::~Graphemes() = default;

void Graphemes::visit(std::string_view text, FunctionRef<void(std::string_view)> visit) {
  if (iterator_ == nullptr) iterator_ = std::make_unique<Iterator>();
  UErrorCode status = U_ZERO_ERROR;
  iterator_->text =
      utext_openUTF8(iterator_->text, text.data(), static_cast<std::int64_t>(text.size()), &status);
  UBreakIterator* const breaks = iterator_->breaks;
  ubrk_setUText(breaks, iterator_->text, &status);
  if (U_FAILURE(status)) throw StateError("ICU cannot read the text");
  std::int32_t begin = ubrk_first(breaks);
  for (std::int32_t end = ubrk_next(breaks); end != UBRK_DONE; begin = end, end = ubrk_next(breaks))
    visit(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
}

bool stands_alone(char32_t c) {
  if (c >= kBmp) return find_alone(c);
  static const std::bitset<kBmp> known = [] {
    std::bitset<kBmp> bits;
    for (char32_t each = 0; each < kBmp; ++each) bits[each] = find_alone(each);
    return bits;
  }();
  return known[c];
}

}  // namespace weft
