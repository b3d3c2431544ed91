// Normalisers that examine one character at a time.
#pragma once

#include <optional>

#include "weft/core/export.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"

namespace WEFT_API weft {
namespace normalizers {

/// Converts to lower case character by character, without special treatment of the final sigma.
class Lowercase : public Normalizer {
 public:
  static constexpr const char* kName = "Lowercase";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

/// Drops all combining marks. After NFD or NFKD, this removes accents.
class StripAccents : public Normalizer {
 public:
  static constexpr const char* kName = "StripAccents";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

/// Drops whitespace at the ends of each part.
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

/// Applies SentencePiece's "nmt" rules to a character. Returns none if the character is dropped.
std::optional<char32_t> nmt(char32_t c);

/// Applies the "nmt" rules: drops control characters and converts unusual spaces to spaces.
class Nmt : public Normalizer {
 public:
  static constexpr const char* kName = "Nmt";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

}  // namespace normalizers
}  // namespace weft
