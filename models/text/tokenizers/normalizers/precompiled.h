// SentencePiece's compiled character map: byte replacement rules in the format used by
// SentencePiece models and by the normaliser "Precompiled" in tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A map in SentencePiece's compiled form: a double-array trie (in the format of the darts library)
/// with the byte strings to replace, and their replacements. Immutable.
class PrecompiledMap {
 public:
  struct Rule {
    std::size_t size = 0;          // number of bytes that are replaced
    std::string_view replacement;  // valid while the map exists
  };

  PrecompiledMap();  // creates a map without rules
  /// Parses a map, which consists of the size of the double array in bytes (32 bits,
  /// little-endian), the double array, and the replacements, each terminated by a zero byte. Throws
  /// FormatError if the data is invalid. The result is safe to use even if the data comes from an
  /// untrusted source.
  static PrecompiledMap parse(std::string_view blob);

  /// Returns the rule with the longest match at the start of `text`. SentencePiece applies this
  /// rule.
  std::optional<Rule> longest(std::string_view text) const;
  /// Returns the replacement of the rule with the shortest match at the start of `text`. `text` is
  /// a grapheme cluster with fewer than six bytes, or a single character. Hugging Face's tokenizers
  /// library replaces all of `text` with the result.
  std::optional<std::string_view> shortest(std::string_view text) const;

  /// Returns true if `text` is a prefix of a byte string that a rule replaces.
  bool has_rule_from(std::string_view text) const;
  /// Returns true if no rule matches the ASCII character `c` alone or starts with `c` and another
  /// ASCII character. Such a character is unchanged if it is followed by an ASCII character or by
  /// the end of the text.
  bool keeps_ascii(unsigned char c) const { return c < 0x80 && keeps_[c]; }
  bool empty() const { return units_.empty(); }

 private:
  // Visits all rules that match at the start of `text`, the shortest match first, until `visit`
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
