// Regular expressions. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/models/generate/structured/characters.h"
#include "weft/models/generate/structured/constraint.h"
#include "weft/models/generate/structured/grammar.h"

namespace weft::structured {

enum class RegexMatch : std::uint8_t {
  whole,  // the whole text matches; the anchors ^ and $ change nothing
  part,   // some part of the text matches, as in JSON schema's `pattern`
};

struct Regex {
  std::string_view pattern;
  RegexMatch match;
};

/// Emits the texts that match all of `expressions`: the syntax of ECMAScript without assertions
/// (except the anchors at the beginning and end of top-level alternatives) and back references.
/// Characters are code points. Throws FormatError with the byte offset of the error, and
/// ArgumentError if groups are nested too deeply.
std::int32_t emit_regex(GrammarBuilder& grammar, std::int32_t from,
                        std::span<const Regex> expressions, TextForm form,
                        const ConstraintLimits& limits);
std::int32_t emit_regex(GrammarBuilder& grammar, std::int32_t from, const Regex& expression,
                        TextForm form, const ConstraintLimits& limits);

}  // namespace weft::structured
