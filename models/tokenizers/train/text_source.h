// Texts that come part by part, as many as there are: what tokenizers learn from.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Parts of texts, one after another. Words do not cross their ends.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Replaces `part` by the next one; false where there is none.
  virtual bool next(std::string& part) = 0;
};

/// Where `text`, which goes on, is best cut, so that a part ends where a word does: behind a line
/// break that stands between two characters that are no white space (words that split patterns
/// find do not depend on what is behind such a place); else behind any line break, in front of a
/// blank, or wherever a character ends. 0 where `text` is empty.
std::size_t end_of_part(std::string_view text);

/// Texts in memory, each in parts.
class TextList : public TextSource {
 public:
  /// `texts` must outlive it.
  explicit TextList(std::span<const std::string> texts) : texts_(texts) {}
  bool next(std::string& part) override;

 private:
  std::span<const std::string> texts_;
  std::size_t text_ = 0, begin_ = 0;
};

/// About the size of a part, in bytes.
inline constexpr std::size_t kTextPartBytes = std::size_t{1} << 19;

}  // namespace weft
