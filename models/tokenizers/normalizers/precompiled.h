// SentencePiece's compiled character map: rules "these bytes become those", as models and
// tokenizer.json ("Precompiled") carry them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A map as SentencePiece compiles it: a double array (of its darts library) of what is replaced,
/// and the replacements. Immutable.
class PrecompiledMap {
 public:
  struct Rule {
    std::size_t size = 0;          // bytes of the text that it replaces
    std::string_view replacement;  // lives as long as the map
  };

  PrecompiledMap();  // of no rules
  /// Reads a map: four bytes, little-endian, that say how many bytes the double array takes, the
  /// array, and the replacements, each with a zero byte behind it. Throws FormatError for what is
  /// none; what is read is safe to use, whoever made it.
  static PrecompiledMap parse(std::string_view blob);

  /// The longest rule for what `text` begins with: SentencePiece goes by these.
  std::optional<Rule> longest(std::string_view text) const;
  /// The replacement of the shortest rule for what `text` begins with, which tokenizer.json's
  /// library takes for all of `text` (a grapheme of less than six bytes, or a character).
  std::optional<std::string_view> shortest(std::string_view text) const;

  /// True where some rule begins with `text`, which is not longer than it.
  bool has_rule_from(std::string_view text) const;
  /// True where no rule begins with the ASCII character `c` alone, or with it and another one:
  /// between ASCII characters it stays.
  bool keeps_ascii(unsigned char c) const { return c < 0x80 && keeps_[c]; }
  bool empty() const { return units_.empty(); }

 private:
  // Visits every rule for what `text` begins with, shorter ones first, until `visit` says false.
  template <class Visit>
  void visit_rules(std::string_view text, const Visit& visit) const;
  bool stays(std::size_t c) const;
  std::string_view replacement(std::uint32_t offset) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> keeps_{};
};

}  // namespace weft
