// SentencePiece's compiled character map: byte replacement rules, as stored in its models and in
// tokenizer.json ("Precompiled").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A map in SentencePiece's compiled form: a double-array trie (of the darts library) of the byte
/// strings to replace, and their replacements. Immutable.
class PrecompiledMap {
 public:
  struct Rule {
    std::size_t size = 0;          // number of bytes that the rule replaces
    std::string_view replacement;  // valid as long as the map
  };

  PrecompiledMap();  // without rules
  /// Reads a map: the size of the double array in bytes (32 bits, little-endian), the double array,
  /// and the replacements, each terminated by a zero byte. Throws FormatError for invalid data. The
  /// result is safe to use even if the data comes from an untrusted source.
  static PrecompiledMap parse(std::string_view blob);

  /// Returns the rule with the longest match at the start of `text`, as SentencePiece does.
  std::optional<Rule> longest(std::string_view text) const;
  /// Returns the replacement of the rule with the shortest match at the start of `text`, which is a
  /// grapheme of less than six bytes or a single character. Hugging Face's tokenizers library
  /// replaces all of `text` with it.
  std::optional<std::string_view> shortest(std::string_view text) const;

  /// True if `text` is a prefix of the bytes that some rule replaces.
  bool has_rule_from(std::string_view text) const;
  /// True if no rule matches the ASCII character `c` alone or starts with `c` and another ASCII
  /// character. Such a character is unchanged if an ASCII character or the end of the text follows.
  bool keeps_ascii(unsigned char c) const { return c < 0x80 && keeps_[c]; }
  bool empty() const { return units_.empty(); }

 private:
  // Visits every rule that matches at the start of `text`, the shortest first, until `visit`
  // returns false.
  template <class Visit>
  void visit_rules(std::string_view text, const Visit& visit) const;
  bool stays(std::size_t c) const;
  std::string_view replacement(std::uint32_t offset) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> keeps_{};
};

}  // namespace weft
