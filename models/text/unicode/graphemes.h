// Grapheme clusters: user-perceived characters, such as a letter with its marks or an emoji
// sequence.
#pragma once

#include <memory>
#include <string_view>

#include "weft/core/function_ref.h"

namespace WEFT_API weft {

/// Splits texts into extended grapheme clusters (UAX 29).
class Graphemes {
 public:
  Graphemes();
  ~Graphemes();
  Graphemes(const Graphemes&) = delete;
  Graphemes& operator=(const Graphemes&) = delete;

  /// Calls `visit` for each grapheme cluster of `text`, which must be valid UTF-8.
  void visit(std::string_view text, FunctionRef<void(std::string_view)> visit);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

/// Returns true for most characters. There is always a grapheme boundary between two characters for
/// which the result is true, regardless of the surrounding characters.
bool stands_alone(char32_t c);

}  // namespace weft
