// Sources of training texts for tokenizers. Texts are read in parts, so that a corpus may be larger
// than memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A sequence of parts of texts. No word crosses the boundary between two parts.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// Sets `part` to the next part. Returns false if there are no more parts.
  virtual bool next(std::string& part) = 0;
};

/// Returns the best offset in `text` at which to end a part, so that no word is split. The text
/// continues beyond the end of `text`. In order of preference, the offset is after the last line
/// break between two characters that are not whitespace (split patterns find the same words
/// regardless of the text after such an offset), after the last line break, before the last space,
/// or at the end of the last complete character. Returns 0 if `text` is empty.
std::size_t end_of_part(std::string_view text);

/// A source of texts in memory. Each text is read in parts of about kTextPartBytes.
class TextList : public TextSource {
 public:
  /// `texts` must outlive the source.
  explicit TextList(std::span<const std::string> texts) : texts_(texts) {}
  bool next(std::string& part) override;

 private:
  std::span<const std::string> texts_;
  std::size_t text_ = 0, begin_ = 0;
};

/// The approximate size of a part, in bytes.
inline constexpr std::size_t kTextPartBytes = std::size_t{1} << 19;

}  // namespace weft
