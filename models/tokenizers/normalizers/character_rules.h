// The rules by which SentencePiece changes characters, made from Unicode's data.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// "These characters become those."
using CharacterRules = std::map<std::u32string, std::u32string>;

/// The rules that SentencePiece calls `name`: "identity" (none), "nfkc" (compatible forms,
/// composed), "nmt_nfkc" (the same, without control characters, blanks of all kinds as one),
/// "nfkc_cf" and "nmt_nfkc_cf" (those, with case folded). Throws ArgumentError for other names.
CharacterRules character_rules(std::string_view name);

/// `rules` as PrecompiledMap::parse reads them, and SentencePiece, too. Empty for no rules. Throws
/// ArgumentError for a rule with a zero character.
std::string compile(const CharacterRules& rules);

}  // namespace weft
