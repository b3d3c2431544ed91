#include "weft/models/generate/structured/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/structured/character_automaton.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::structured {
namespace {

constexpr std::int64_t kUnlimited = -1;

struct Node {
  enum Kind : std::uint8_t { set, sequence, alternatives, repeat };
  Kind kind;
  CharacterSet characters = {};   // of a set
  std::vector<Node> parts = {};   // of the others
  std::int64_t min = 1, max = 1;  // of a repetition
};

CharacterSet digits() { return {{'0', '9'}}; }
CharacterSet word_characters() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CharacterSet spaces() {
  return {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

class Parser {
 public:
  Parser(const Regex& expression, const ConstraintLimits& limits)
      : pattern_(expression.pattern), match_(expression.match), limits_(limits) {
    if (const std::size_t invalid = find_invalid_utf8(pattern_); invalid < pattern_.size()) {
      fail_at(invalid, "invalid UTF-8");
    }
  }

  Node parse() {
    Node result = alternatives(0);
    if (at_ < pattern_.size()) fail("unmatched ')'");
    return result;
  }

 private:
  [[noreturn]] static void fail_at(std::size_t at, std::string_view problem) {
    throw FormatError(fmt::format("regular expression, byte {}: {}", at, problem));
  }
  [[noreturn]] void fail(std::string_view problem) const { fail_at(at_, problem); }

  bool has_more() const { return at_ < pattern_.size(); }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  Node alternatives(std::int64_t depth) {
    if (depth > limits_.depth) {
      throw ArgumentError(
          fmt::format("regular expression, byte {}: groups are nested more than {} deep "
                      "(ConstraintLimits::depth)",
                      at_, limits_.depth));
    }
    Node result{Node::alternatives};
    do {
      result.parts.push_back(sequence(depth));
    } while (take("|"));
    return result;
  }

  Node sequence(std::int64_t depth) {
    Node result{Node::sequence};
    const bool searches = depth == 0 && match_ == RegexMatch::part;
    const Node anything{.kind = Node::repeat,
                        .parts = {{Node::set, CharacterSet::all()}},
                        .min = 0,
                        .max = kUnlimited};
    const bool begins = depth == 0 && take("^");
    if (searches && !begins) result.parts.push_back(anything);
    bool ends = false;
    while (has_more() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      if (depth == 0 && take("$")) {
        if (has_more() && pattern_[at_] != '|')
          fail("'$' is supported only at the end of an alternative outside groups");
        ends = true;
        break;
      }
      result.parts.push_back(repeated(atom(depth)));
    }
    if (searches && !ends) result.parts.push_back(anything);
    return result;
  }

  Node atom(std::int64_t depth) {
    const std::size_t start = at_;
    const char32_t c = take_character(pattern_, at_);
    switch (c) {
      case '(': {
        if (take("?")) {
          if (take("<") && has_more() && pattern_[at_] != '=' && pattern_[at_] != '!') {
            const std::size_t end = pattern_.find('>', at_);
            if (end == std::string_view::npos) fail_at(start, "the name of a group has no end '>'");
            at_ = end + 1;
          } else if (!take(":")) {
            fail_at(start, "assertions and flags '(?' are not supported");
          }
        }
        Node result = alternatives(depth + 1);
        if (!take(")")) fail_at(start, "'(' has no ')'");
        return result;
      }
      case '.':
        return {Node::set, CharacterSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}.complement()};
      case '[': return {Node::set, character_class(start)};
      case '\\': return {Node::set, escape(start)};
      case '*':
      case '+':
      case '?': fail_at(start, "nothing to repeat");
      case '^':
        fail_at(start, "'^' is supported only at the beginning of an alternative outside groups");
      case '$': fail_at(start, "'$' is supported only at the end of an alternative outside groups");
      default: return {Node::set, {{c, c}}};
    }
  }

  Node repeated(Node part) {
    const std::size_t start = at_;
    std::int64_t min = 0, max = kUnlimited;
    if (take("*")) {
    } else if (take("+")) {
      min = 1;
    } else if (take("?")) {
      max = 1;
    } else if (!counts(min, max)) {
      return part;
    }
    if (max != kUnlimited && min > max) {
      fail_at(start, fmt::format("the count {{{},{}}} is in descending order", min, max));
    }
    if (take("?")) {
    }  // a lazy repetition matches the same texts
    if (has_more() && (pattern_[at_] == '*' || pattern_[at_] == '+' || pattern_[at_] == '?'))
      fail("nothing to repeat");
    return {.kind = Node::repeat, .parts = {std::move(part)}, .min = min, .max = max};
  }

  /// Reads {n}, {n,} or {n,m}. Other texts in braces are literal.
  bool counts(std::int64_t& min, std::int64_t& max) {
    const std::size_t start = at_;
    std::optional<std::int64_t> low, high;
    if (take("{") && (low = number())) {
      if (take("}")) {
        min = max = *low;
        return true;
      }
      if (take(",")) {
        high = number();
        if (take("}")) {
          min = *low;
          max = high.value_or(kUnlimited);
          return true;
        }
      }
    }
    at_ = start;
    return false;
  }

  std::optional<std::int64_t> number() {
    std::optional<std::int64_t> value;
    for (; has_more() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_)
      value = std::min<std::int64_t>(value.value_or(0) * 10 + (pattern_[at_] - '0'), 1'000'000'000);
    return value;
  }

  /// Reads the rest of an escape after a backslash at byte `start`.
  CharacterSet escape(std::size_t start) {
    if (!has_more()) fail_at(start, "'\\' at the end");
    const char32_t c = take_character(pattern_, at_);
    const auto one = [](char32_t character) { return CharacterSet{{character, character}}; };
    switch (c) {
      case 'd': return digits();
      case 'D': return digits().complement();
      case 'w': return word_characters();
      case 'W': return word_characters().complement();
      case 's': return spaces();
      case 'S': return spaces().complement();
      case 't': return one('\t');
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case '0': return one(0);
      case 'x': return one(hex(2, start));
      case 'u': {
        if (take("{")) {
          const std::size_t end = pattern_.find('}', at_);
          if (end == std::string_view::npos || end == at_ || end - at_ > 6)
            fail_at(start, "invalid '\\u{'");
          const char32_t value = hex(end - at_, start);
          ++at_;
          return one(value);
        }
        char32_t value = hex(4, start);
        if (value >= 0xD800 && value < 0xDC00 && take("\\u")) {
          const char32_t low = hex(4, start);
          if (low < 0xDC00 || low > 0xDFFF) fail_at(start, "a surrogate without its pair");
          value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
        }
        if (value >= 0xD800 && value <= 0xDFFF) fail_at(start, "a surrogate without its pair");
        return one(value);
      }
      default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
          fail_at(start, fmt::format("'\\{}' is not supported", static_cast<char>(c)));
        return one(c);
    }
  }

  char32_t hex(std::size_t count, std::size_t start) {
    char32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const char c = has_more() ? pattern_[at_] : '\0';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) {
        fail_at(start, "expected hexadecimal digits");
      }
      value = value * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    if (value > 0x10FFFF) {
      fail_at(start, "a character above U+10FFFF");
    }
    return value;
  }

  /// Reads the rest of a class after '[' at byte `start`.
  CharacterSet character_class(std::size_t start) {
    CharacterSet result;
    const bool is_negated = take("^");
    const auto member = [&] {
      const std::size_t at = at_;
      const char32_t c = take_character(pattern_, at_);
      if (c == '[' && has_more() && pattern_[at_] == ':') {
        fail_at(at, "POSIX classes '[:' are not supported");
      }
      if (c != '\\') return CharacterSet{{c, c}};
      if (take("b")) return CharacterSet{{'\b', '\b'}};
      return escape(at);
    };
    const auto is_one = [](const CharacterSet& set) {
      return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    };
    while (!take("]")) {
      if (!has_more()) {
        fail_at(start, "'[' has no ']'");
      }
      const std::size_t at = at_;
      CharacterSet low = member();
      if (at_ + 1 < pattern_.size() && pattern_[at_] == '-' && pattern_[at_ + 1] != ']') {
        ++at_;
        const CharacterSet high = member();
        if (!is_one(low) || !is_one(high) || low.ranges()[0].first > high.ranges()[0].first) {
          fail_at(at, "invalid range in a character class");
        }
        low = {{low.ranges()[0].first, high.ranges()[0].first}};
      }
      result.add(low);
    }
    return is_negated ? result.complement() : result;
  }

  std::string_view pattern_;
  RegexMatch match_;
  const ConstraintLimits& limits_;
  std::size_t at_ = 0;
};

/// Emits to a grammar of bytes.
struct ByteTarget {
  std::int32_t add_state() { return grammar.add_state(); }
  void empty(std::int32_t from, std::int32_t to) { grammar.empty(from, to); }
  std::int32_t character(std::int32_t from, const CharacterSet& characters) {
    return emit_character(grammar, from, characters, form);
  }

  GrammarBuilder& grammar;
  TextForm form;
};

/// Emits a regular expression to a ByteTarget or a CharacterAutomaton.
template <class Target>
class Emitter {
 public:
  explicit Emitter(Target& target) : target_(target) {}

  std::int32_t emit(std::int32_t from, const Node& node) {
    switch (node.kind) {
      case Node::set: return target_.character(from, node.characters);
      case Node::sequence:
        for (const Node& part : node.parts) from = emit(from, part);
        return from;
      case Node::alternatives: {
        if (node.parts.size() == 1) return emit(from, node.parts[0]);
        const std::int32_t to = target_.add_state();
        for (const Node& part : node.parts) target_.empty(emit(from, part), to);
        return to;
      }
      case Node::repeat: return repeat(from, node);
    }
    return from;
  }

 private:
  std::int32_t repeat(std::int32_t from, const Node& node) {
    const Node& part = node.parts[0];
    std::int32_t rule = -1;
    if constexpr (std::is_same_v<Target, ByteTarget>) {
      // Large parts that are repeated often are calls of one rule.
      constexpr std::int64_t kMostInline = 64;
      const std::int64_t copies = node.max == kUnlimited ? node.min + 1 : node.max;
      const std::int64_t each = size(part);
      if (copies > 1 && each > 1 && copies > kMostInline / each) {
        rule = target_.grammar.add_rule();
        target_.grammar.end(emit(target_.grammar.start(rule), part));
      }
    }
    const auto once = [&](std::int32_t state) {
      if constexpr (std::is_same_v<Target, ByteTarget>) {
        if (rule >= 0) return target_.grammar.call(state, rule);
      }
      return emit(state, part);
    };
    for (std::int64_t i = 0; i < node.min; ++i) from = once(from);
    const std::int32_t to = target_.add_state();
    target_.empty(from, to);
    if (node.max == kUnlimited) {
      target_.empty(once(to), to);
      return to;
    }
    for (std::int64_t i = node.min; i < node.max; ++i) {
      from = once(from);
      target_.empty(from, to);
    }
    return to;
  }

  /// Returns about the number of states of a node, up to 1000.
  static std::int64_t size(const Node& node) {
    constexpr std::int64_t kMost = 1000;
    if (node.kind == Node::set) return node.characters.is_ascii() ? 1 : 10;
    std::int64_t sum = 0;
    for (const Node& part : node.parts) sum = std::min(kMost, sum + size(part));
    if (node.kind != Node::repeat) return sum;
    return std::min(kMost, sum * std::min(kMost, std::max(node.min, node.max) + 1));
  }

  Target& target_;
};

}  // namespace

std::int32_t emit_regex(GrammarBuilder& grammar, std::int32_t from,
                        std::span<const Regex> expressions, TextForm form,
                        const ConstraintLimits& limits) {
  if (expressions.size() == 1) return emit_regex(grammar, from, expressions[0], form, limits);
  std::vector<CharacterAutomaton> automata;
  for (const Regex& expression : expressions) {
    CharacterAutomaton& automaton = automata.emplace_back(limits.states);
    automaton.end(Emitter(automaton).emit(0, Parser(expression, limits).parse()));
  }
  return emit_intersection(grammar, from, automata, form);
}

std::int32_t emit_regex(GrammarBuilder& grammar, std::int32_t from, const Regex& expression,
                        TextForm form, const ConstraintLimits& limits) {
  ByteTarget target{grammar, form};
  return Emitter(target).emit(from, Parser(expression, limits).parse());
}

}  // namespace weft::structured
