// Normalisers that look at one character at a time.
#pragma once

#include <optional>

#include "weft/core/export.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"

namespace WEFT_API weft {
namespace normalizers {

/// Lower case, character by character: a final sigma is one like any other.
class Lowercase : public Normalizer {
 public:
  static constexpr const char* kName = "Lowercase";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(PartedText& parts) const override;
};

/// Drops all marks: behind NFD or NFKD, accents.
class StripAccents : public Normalizer {
 public:
  static constexpr const char* kName = "StripAccents";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(PartedText& parts) const override;
};

/// Drops white space at the ends.
class Strip : public Normalizer {
 public:
  static constexpr const char* kName = "Strip";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("strip_left", left_);
    fields.required("strip_right", right_);
  }
  void normalise(PartedText& parts) const override;

 private:
  bool left_ = true, right_ = true;
};

/// What SentencePiece's "nmt" rules make of a character; none: it goes.
std::optional<char32_t> nmt(char32_t c);

/// These rules: control characters go, odd blanks are blanks.
class Nmt : public Normalizer {
 public:
  static constexpr const char* kName = "Nmt";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(PartedText& parts) const override;
};

}  // namespace normalizers
}  // namespace weft
