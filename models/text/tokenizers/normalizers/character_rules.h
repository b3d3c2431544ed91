// SentencePiece's character normalisation rules, derived from Unicode data.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Replacement rules: a map from character sequences to character sequences.
using CharacterRules = std::map<std::u32string, std::u32string>;

/// Returns the rules of the SentencePiece normaliser `name`: "identity" (no rules), "nfkc"
/// (compatibility composition), "nmt_nfkc" (like "nfkc", but also removes control characters and
/// converts all kinds of spaces to U+0020), "nfkc_cf" or "nmt_nfkc_cf" (with additional case
/// folding). Throws ArgumentError for other names.
CharacterRules character_rules(std::string_view name);

/// Compiles `rules` to the format that PrecompiledMap::parse() and SentencePiece read. Returns ""
/// if there are no rules. Throws ArgumentError if a rule is empty or contains U+0000.
std::string compile(const CharacterRules& rules);

}  // namespace weft
