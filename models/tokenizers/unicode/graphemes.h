// What people take for one character: a letter with its marks, an emoji of several parts.
#pragma once

#include <memory>
#include <string_view>

#include "weft/core/parallel.h"

namespace WEFT_API weft {

/// Extended grapheme clusters (UAX 29) of texts.
class Graphemes {
 public:
  Graphemes();
  ~Graphemes();
  Graphemes(const Graphemes&) = delete;
  Graphemes& operator=(const Graphemes&) = delete;

  /// Calls `visit` with every one of valid UTF-8.
  void visit(std::string_view text, FunctionRef<void(std::string_view)> visit);

 private:
  struct Iterator;
  std::unique_ptr<Iterator> iterator_;
};

/// True for most characters: between two of these a grapheme ends, whatever stands around them.
bool stands_alone(char32_t c);

}  // namespace weft
