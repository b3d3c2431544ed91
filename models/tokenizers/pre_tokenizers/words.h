// Pre-tokenizers that look at one character at a time.
#pragma once

#include <cstdint>

#include "weft/models/tokenizers/pre_tokenizers/delimiters.h"
#include "weft/models/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Words and runs of signs: \w+|[^\w\s]+.
class Whitespace : public PreTokenizer {
 public:
  static constexpr const char* kName = "Whitespace";
  template <class Fields>
  void describe(Fields&) {}
  void split(PartedText& parts) const override;
};

/// What stands between white space.
class WhitespaceSplit : public PreTokenizer {
 public:
  static constexpr const char* kName = "WhitespaceSplit";
  template <class Fields>
  void describe(Fields&) {}
  void split(PartedText& parts) const override;
};

/// What stands between white space, each sign alone.
class Bert : public PreTokenizer {
 public:
  static constexpr const char* kName = "BertPreTokenizer";
  template <class Fields>
  void describe(Fields&) {}
  void split(PartedText& parts) const override;
};

/// At punctuation.
class Punctuation : public PreTokenizer {
 public:
  static constexpr const char* kName = "Punctuation";
  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("behavior", behaviour_);
  }
  void split(PartedText& parts) const override;

 private:
  Delimiter behaviour_ = Delimiter::isolated;
};

/// Digits apart from the rest, together or each alone.
class Digits : public PreTokenizer {
 public:
  static constexpr const char* kName = "Digits";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("individual_digits", individual_);
  }
  void split(PartedText& parts) const override;

 private:
  bool individual_ = false;
};

/// What stands between one character.
class CharDelimiterSplit : public PreTokenizer {
 public:
  static constexpr const char* kName = "CharDelimiterSplit";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("delimiter", delimiter_);
  }
  void split(PartedText& parts) const override;

 private:
  char32_t delimiter_ = U' ';
};

/// Where the script changes; Japanese is one, a blank is of the script beside it.
class UnicodeScripts : public PreTokenizer {
 public:
  static constexpr const char* kName = "UnicodeScripts";
  template <class Fields>
  void describe(Fields&) {}
  void split(PartedText& parts) const override;
};

/// So many characters at a time.
class FixedLength : public PreTokenizer {
 public:
  static constexpr const char* kName = "FixedLength";
  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("length", length_);
  }
  void prepare() const;
  void split(PartedText& parts) const override;

 private:
  std::uint64_t length_ = 5;
};

}  // namespace pre_tokenizers
}  // namespace weft
