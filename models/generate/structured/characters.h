// Sets of characters, and their bytes in UTF-8 or within a JSON string. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

/// How characters are written: in UTF-8, or in UTF-8 within the quotes of a JSON string, where
/// quotes, backslashes and control characters are escaped in the shortest way.
enum class TextForm : std::uint8_t { plain, json_string };

/// A set of Unicode characters (without surrogates).
class CharacterSet {
 public:
  struct Range {
    char32_t first, last;
  };

  CharacterSet() = default;
  CharacterSet(std::initializer_list<Range> ranges);
  static CharacterSet all() { return {{0, 0x10FFFF}}; }

  void add(const CharacterSet& other);
  CharacterSet complement() const;
  CharacterSet intersection(const CharacterSet& other) const;
  /// In ascending order, without overlaps and surrogates.
  const std::vector<Range>& ranges() const { return ranges_; }
  bool is_ascii() const { return ranges_.empty() || ranges_.back().last < 0x80; }

 private:
  void normalize();
  std::vector<Range> ranges_;
};

/// Emits one character of `set`.
std::int32_t emit_character(GrammarBuilder& grammar, std::int32_t from, const CharacterSet& set,
                            TextForm form);

}  // namespace weft::structured
