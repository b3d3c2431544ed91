// A template's text as tokens: white space is controlled here, as transformers sets it
// (trim_blocks, lstrip_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/template/run.h"

namespace weft::chat {

struct Token {
  enum class Kind : std::uint8_t {
    data,            // text outside of tags
    variable_begin,  // {{
    variable_end,    // }}
    block_begin,     // {%
    block_end,       // %}
    name,
    text,      // a literal, without quotes and escapes
    integer,   // as written, without "_"
    floating,  // the same
    symbol,    // an operator or a bracket
    end        // of the template
  };
  Kind kind = Kind::end;
  std::string text = {};
  Place place = {};

  bool is(Kind wanted, std::string_view what) const { return kind == wanted && text == what; }
};

/// Throws FormatError with the place for what no template may hold, and for one that is too long.
std::vector<Token> tokenize(std::string_view source);

/// Throws FormatError: "the chat template ... (line 1, column 5)".
[[noreturn]] void fail_template(Place place, std::string_view what);

/// How messages show a token.
std::string describe(const Token& token);

}  // namespace weft::chat
