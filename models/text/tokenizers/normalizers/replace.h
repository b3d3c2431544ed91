// Normalisers that insert or replace text.
#pragma once

#include <string>

#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/unicode/pattern.h"

namespace WEFT_API weft {
namespace normalizers {

/// Replaces every match of a pattern. The replacement has the source span of the last character of
/// the match.
class Replace : public Normalizer, public Replacement {
 public:
  void normalise(SplitText& parts) const override;
};

/// Inserts a text before each part.
class Prepend : public Normalizer {
 public:
  static constexpr const char* kName = "Prepend";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("prepend", text_);
  }
  void normalise(SplitText& parts) const override;

 private:
  std::string text_;
};

/// Replaces each byte with its character in GPT-2's byte alphabet.
class ByteLevel : public Normalizer {
 public:
  static constexpr const char* kName = "ByteLevel";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(SplitText& parts) const override;
};

}  // namespace normalizers
}  // namespace weft
