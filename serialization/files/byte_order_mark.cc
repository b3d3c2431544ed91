#include "weft/serialization/files/byte_order_mark.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Returns true if the text is UTF-16 or UTF-32, that is, if it begins with U+FEFF in either byte
/// order.
bool is_wide_text(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         text.starts_with(std::string_view("\0\0\xFE\xFF", 4));
}

}  // namespace

std::size_t byte_order_mark(std::string_view text, std::string_view what) {
  if (is_wide_text(text))
    throw FormatError(fmt::format("{}: the text is UTF-16 or UTF-32; convert it to UTF-8", what));
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace weft
