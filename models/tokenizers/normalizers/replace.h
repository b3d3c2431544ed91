// Normalisers that put text of their own into a text.
#pragma once

#include <string>

#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/pattern.h"

namespace WEFT_API weft {
namespace normalizers {

/// What takes the place of a match comes from where the match's last character came from.
class Replace : public Normalizer, public Replacement {
 public:
  void normalise(PartedText& parts) const override;
};

/// A text in front of every part.
class Prepend : public Normalizer {
 public:
  static constexpr const char* kName = "Prepend";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("prepend", text_);
  }
  void normalise(PartedText& parts) const override;

 private:
  std::string text_;
};

/// Every byte as a character of GPT-2's alphabet.
class ByteLevel : public Normalizer {
 public:
  static constexpr const char* kName = "ByteLevel";
  template <class Fields>
  void describe(Fields&) {}
  void normalise(PartedText& parts) const override;
};

}  // namespace normalizers
}  // namespace weft
