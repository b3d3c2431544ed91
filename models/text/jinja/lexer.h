// Splits the source of a template into tokens. The lexer applies whitespace control with the
// settings of Hugging Face transformers (trim_blocks, lstrip_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/run.h"

namespace weft::chat {

struct Token {
  enum class Kind : std::uint8_t {
    data,            // text outside tags
    variable_begin,  // {{
    variable_end,    // }}
    block_begin,     // {%
    block_end,       // %}
    name,
    text,      // a string literal, without quotes and with its escapes resolved
    integer,   // a decimal integer, without "_"
    floating,  // a decimal fraction or a number with an exponent, without "_"
    symbol,    // an operator or bracket
    end        // end of the template
  };
  Kind kind = Kind::end;
  std::string text = {};
  Place place = {};

  bool is(Kind wanted, std::string_view what) const { return kind == wanted && text == what; }
};

/// Splits `source` into tokens. Throws FormatError if the template is too long or contains a
/// lexical error (with its line and column).
std::vector<Token> tokenize(std::string_view source);

/// Throws FormatError with a message of the form "the chat template {what} (line 1, column 5)".
[[noreturn]] void fail_template(Place place, std::string_view what);

/// Returns a description of a token for error messages.
std::string describe(const Token& token);

}  // namespace weft::chat
