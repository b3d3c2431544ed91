// Pre-tokenizers that process one character at a time.
#pragma once

#include <cstdint>

#include "weft/models/text/tokenizers/pre_tokenizers/delimiters.h"
#include "weft/models/text/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

/// Splits into words and runs of punctuation: \w+|[^\w\s]+.
class Whitespace : public PreTokenizer {
 public:
  static constexpr const char* kName = "Whitespace";
  template <class Fields>
  void describe(Fields&) {}
  void split(SplitText& parts) const override;
};

/// Splits at whitespace, which is removed.
class WhitespaceSplit : public PreTokenizer {
 public:
  static constexpr const char* kName = "WhitespaceSplit";
  template <class Fields>
  void describe(Fields&) {}
  void split(SplitText& parts) const override;
};

/// Splits at whitespace, which is removed, and isolates each punctuation character.
class Bert : public PreTokenizer {
 public:
  static constexpr const char* kName = "BertPreTokenizer";
  template <class Fields>
  void describe(Fields&) {}
  void split(SplitText& parts) const override;
};

/// Splits at punctuation.
class Punctuation : public PreTokenizer {
 public:
  static constexpr const char* kName = "Punctuation";
  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("behavior", behaviour_);
  }
  void split(SplitText& parts) const override;

 private:
  Delimiter behaviour_ = Delimiter::isolated;
};

/// Separates numbers from other text, either as runs of digits or as individual digits.
class Digits : public PreTokenizer {
 public:
  static constexpr const char* kName = "Digits";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("individual_digits", individual_);
  }
  void split(SplitText& parts) const override;

 private:
  bool individual_ = false;
};

/// Splits at one character, which is removed.
class CharDelimiterSplit : public PreTokenizer {
 public:
  static constexpr const char* kName = "CharDelimiterSplit";
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("delimiter", delimiter_);
  }
  void split(SplitText& parts) const override;

 private:
  char32_t delimiter_ = U' ';
};

/// Splits texts at changes of script. Han, Hiragana and Katakana count as one script. Spaces and
/// characters of unknown script belong to the script of the preceding text.
class UnicodeScripts : public PreTokenizer {
 public:
  static constexpr const char* kName = "UnicodeScripts";
  template <class Fields>
  void describe(Fields&) {}
  void split(SplitText& parts) const override;
};

/// Splits texts into parts of `length` characters each.
class FixedLength : public PreTokenizer {
 public:
  static constexpr const char* kName = "FixedLength";
  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("length", length_);
  }
  void prepare() const;
  void split(SplitText& parts) const override;

 private:
  std::uint64_t length_ = 5;
};

}  // namespace pre_tokenizers
}  // namespace weft
