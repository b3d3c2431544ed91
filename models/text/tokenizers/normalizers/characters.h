// Normalisers that process one character at a time.
#pragma once

#include <optional>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"

namespace WEFT_API weft {
namespace normalizers {

/// Converts texts to lower case character by character, without special handling of the final
/// sigma.
class Lowercase : public Normalizer {
 public:
  static constexpr const char* kName = "Lowercase";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

/// Removes all combining marks. After NFD or NFKD, this strips accents.
class StripAccents : public Normalizer {
 public:
  static constexpr const char* kName = "StripAccents";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

/// Strips whitespace at the ends of each part.
class Strip : public Normalizer {
 public:
  static constexpr const char* kName = "Strip";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("strip_left", left_);
    fields.required("strip_right", right_);
  }
  void normalise(SplitText& parts) const override;

 private:
  bool left_ = true, right_ = true;
};

/// Applies SentencePiece's "nmt" rules to a character. Returns std::nullopt if the character is
/// removed.
std::optional<char32_t> nmt(char32_t c);

/// Applies the "nmt" rules: removes control characters and converts unusual spaces to U+0020.
class Nmt : public Normalizer {
 public:
  static constexpr const char* kName = "Nmt";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

}  // namespace normalizers
}  // namespace weft
