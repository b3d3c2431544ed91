// SentencePiece's character normalisation rules, derived from Unicode data.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Replacement rules: from character sequence to character sequence.
using CharacterRules = std::map<std::u32string, std::u32string>;

/// Returns the rules that SentencePiece calls `name`: "identity" (no rules), "nfkc" (compatibility
/// composition), "nmt_nfkc" (as "nfkc"; also removes control characters and unifies all kinds of
/// spaces), "nfkc_cf" and "nmt_nfkc_cf" (the same with case folding). Throws ArgumentError for
/// other names.
CharacterRules character_rules(std::string_view name);

/// Compiles `rules` to the format that PrecompiledMap::parse() and SentencePiece read. Returns ""
/// if there are no rules. Throws ArgumentError for a rule that is empty or contains U+0000.
std::string compile(const CharacterRules& rules);

}  // namespace weft
