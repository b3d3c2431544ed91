// Sources of training texts for tokenizers. Texts are read in parts, so a corpus may exceed memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A sequence of parts of texts. Words do not cross the boundaries of parts.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Sets `part` to the next part; returns false at the end.
  virtual bool next(std::string& part) = 0;
};

/// Returns the best offset at which to end a part in `text`, which continues after its end, so that
/// no word is split. The preference is: after the last line break between two characters that are
/// not whitespace (the words found by split patterns do not depend on the text after such an
/// offset); else after the last line break; before the last space; at the end of the last complete
/// character. Returns 0 if `text` is empty.
std::size_t end_of_part(std::string_view text);

/// A source of texts in memory, each read in parts of about kTextPartBytes.
class TextList : public TextSource {
 public:
  /// `texts` must outlive it.
  explicit TextList(std::span<const std::string> texts) : texts_(texts) {}
  bool next(std::string& part) override;

 private:
  std::span<const std::string> texts_;
  std::size_t text_ = 0, begin_ = 0;
};

/// The approximate size of a part, in bytes.
inline constexpr std::size_t kTextPartBytes = std::size_t{1} << 19;

}  // namespace weft
