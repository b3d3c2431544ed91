// Normalisers that put text of their own into a text.
#pragma once

#include <memory>
#include <string>

#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/pattern.h"

namespace weft::normalizers {

/// Every match of a pattern becomes one text; it comes from where the match's last character came
/// from.
class Replace : public Normalizer {
 public:
  static constexpr const char* kName = "Replace";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("pattern", pattern_);
    fields.required("content", content_);
  }
  void prepare() { regex_ = std::make_shared<const Regex>(pattern_.regex()); }
  void normalise(PartedText& parts) const override;

 private:
  Pattern pattern_;
  std::string content_;
  std::shared_ptr<const Regex> regex_;
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

}  // namespace weft::normalizers
