#include "weft/models/generate/structured/json_rules.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "weft/models/generate/structured/characters.h"
#include "weft/models/generate/structured/regex.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::structured {
namespace {

/// The characters of a JSON string that need no escape.
CharacterSet plain_characters() { return {{' ', '!'}, {'#', '['}, {']', 0x10FFFF}}; }

std::int32_t pattern(GrammarBuilder& grammar, std::int32_t from, std::string_view text) {
  return emit_regex(grammar, from, {text, RegexMatch::whole}, TextForm::plain, {});
}

/// Emits the rest of a name that begins with the first `depth` characters of `others`, but is none
/// of them, and its quote. `others` are sorted and differ. The state `any` continues with any name.
void different_name(GrammarBuilder& grammar, std::int32_t from,
                    std::span<const std::u32string> others, std::size_t depth, std::int32_t any,
                    std::int32_t closed) {
  while (true) {
    if (!others.empty() && others.front().size() == depth) {
      others = others.subspan(1);
    } else {
      grammar.bytes(from, '"', '"', closed);
    }
    CharacterSet left = plain_characters().complement();  // what does not lead to `any`
    std::int32_t next = -1;
    std::span<const std::u32string> rest = others;
    while (!rest.empty()) {
      const char32_t c = rest.front()[depth];
      const auto end = std::find_if(rest.begin(), rest.end(),
                                    [&](const auto& other) { return other[depth] != c; });
      others = rest.first(static_cast<std::size_t>(end - rest.begin()));
      rest = rest.subspan(others.size());
      left.add({{c, c}});
      next = emit_character(grammar, from, {{c, c}}, TextForm::plain);
      if (!rest.empty()) different_name(grammar, next, others, depth + 1, any, closed);
    }
    grammar.empty(emit_character(grammar, from, left.complement(), TextForm::plain), any);
    if (next < 0) return;
    from = next;
    ++depth;
  }
}

}  // namespace

template <class Emit>
std::int32_t JsonRules::rule(std::optional<std::int32_t>& known, Emit emit) {
  if (!known) {
    known = grammar_.add_rule();
    grammar_.end(emit(grammar_.start(*known)));
  }
  return *known;
}

std::int32_t JsonRules::space() {
  return rule(space_, [&](std::int32_t from) {
    return pattern(grammar_, from, "(?: |\\r?\\n[ \\t]{0,64})?");
  });
}

std::int32_t JsonRules::string() {
  return rule(string_, [&](std::int32_t from) { return string(from, 0, -1); });
}

std::int32_t JsonRules::number() {
  return rule(number_, [&](std::int32_t from) {
    return pattern(grammar_, from,
                   "-?(?:0|[1-9][0-9]{0,17})(?:\\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?");
  });
}

std::int32_t JsonRules::integer() {
  return rule(integer_, [&](std::int32_t from) {
    return pattern(grammar_, from, "-?(?:0|[1-9][0-9]{0,17})");
  });
}

std::int32_t JsonRules::boolean() {
  return rule(boolean_, [&](std::int32_t from) {
    return grammar_.one_of(from, {"true", "false"});
  });
}

std::int32_t JsonRules::null() {
  return rule(null_, [&](std::int32_t from) { return grammar_.text(from, "null"); });
}

std::int32_t JsonRules::value() {
  if (value_) return *value_;
  value_ = grammar_.add_rule();  // before the rules that call it
  const std::int32_t to = grammar_.add_state();
  for (const std::int32_t kind : {string(), number(), boolean(), null(), object(), array()})
    grammar_.call(grammar_.start(*value_), kind, to);
  grammar_.end(to);
  return *value_;
}

std::int32_t JsonRules::object() {
  return rule(object_, [&](std::int32_t from) {
    const std::int32_t to = grammar_.add_state();
    from = byte_and_space(from, '{');
    grammar_.bytes(from, '}', '}', to);
    const std::int32_t name = grammar_.add_state();
    grammar_.empty(from, name);
    const std::int32_t member =
        grammar_.call(byte_and_space(grammar_.call(name, string()), ':'), value());
    grammar_.empty(byte_and_space(member, ','), name);
    space_and_byte(member, '}', to);
    return to;
  });
}

std::int32_t JsonRules::array() {
  return rule(array_, [&](std::int32_t from) { return array(from, value(), 0, -1); });
}

std::int32_t JsonRules::string_character(std::int32_t from) {
  const std::int32_t to = grammar_.add_state();
  grammar_.empty(emit_character(grammar_, from, plain_characters(), TextForm::plain), to);
  // The escapes: of one character, of a code unit that is no surrogate, and of a surrogate pair.
  grammar_.empty(pattern(grammar_, from,
                         "\\\\(?:[\"\\\\/bfnrt]|u(?:[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|"
                         "[Dd][0-7][0-9A-Fa-f]{2}|[Dd][89ABab][0-9A-Fa-f]{2}\\\\u[Dd][C-Fc-f]"
                         "[0-9A-Fa-f]{2}))"),
                 to);
  return to;
}

std::int32_t JsonRules::string(std::int32_t from, std::int64_t min, std::int64_t max) {
  from = grammar_.text(from, "\"");
  const std::int32_t closed = grammar_.add_state();
  if (min > 0 || max >= 0)
    rule(character_, [&](std::int32_t start) { return string_character(start); });
  for (std::int64_t i = 0; i < min; ++i) from = grammar_.call(from, *character_);
  if (max < 0) {
    const std::int32_t loop = grammar_.add_state();
    grammar_.empty(from, loop);
    grammar_.empty(string_character(loop), loop);
    from = loop;
  }
  grammar_.bytes(from, '"', '"', closed);
  for (std::int64_t i = min; i < max; ++i) {
    from = grammar_.call(from, *character_);
    grammar_.bytes(from, '"', '"', closed);
  }
  return closed;
}

std::int32_t JsonRules::name(std::int32_t from, std::string_view json_name) {
  return byte_and_space(grammar_.text(from, json_name), ':');
}

std::int32_t JsonRules::other_name(std::int32_t from, std::vector<std::string> others) {
  std::vector<std::u32string> names;
  for (const std::string& other : others) names.push_back(utf32(other));
  // A name with an escape is never equal to a name without one.
  const std::vector<CharacterSet::Range> escaped = plain_characters().complement().ranges();
  std::erase_if(names, [&](const std::u32string& name) {
    return std::any_of(name.begin(), name.end(), [&](char32_t c) {
      return std::any_of(escaped.begin(), escaped.end(),
                         [&](const auto& range) { return range.first <= c && c <= range.last; });
    });
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::int32_t closed = grammar_.add_state(), any = grammar_.add_state();
  grammar_.empty(emit_character(grammar_, any, plain_characters(), TextForm::plain), any);
  grammar_.bytes(any, '"', '"', closed);
  different_name(grammar_, grammar_.text(from, "\""), names, 0, any, closed);
  return byte_and_space(closed, ':');
}

std::int32_t JsonRules::byte_and_space(std::int32_t from, char byte) {
  return grammar_.call(grammar_.text(from, {&byte, 1}), space());
}

void JsonRules::space_and_byte(std::int32_t from, char byte, std::int32_t to) {
  const auto code = static_cast<std::uint8_t>(byte);
  grammar_.bytes(grammar_.call(from, space()), code, code, to);
}

std::int32_t JsonRules::array(std::int32_t from, std::int32_t item, std::int64_t min,
                              std::int64_t max) {
  const std::int32_t to = grammar_.add_state(), before_end = grammar_.add_state();
  grammar_.bytes(before_end, ']', ']', to);
  from = byte_and_space(from, '[');
  if (min == 0) grammar_.empty(from, before_end);
  // The states after each item, of which the last one repeats if there is no maximum.
  const std::int64_t count = max >= 0 ? max : std::max<std::int64_t>(min, 1);
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int32_t after = grammar_.call(from, item);
    if (i >= min) grammar_.call(after, space(), before_end);
    from = byte_and_space(after, ',');
    if (i == count && max < 0) grammar_.call(from, item, after);
  }
  return to;
}

}  // namespace weft::structured
