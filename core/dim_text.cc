// Printing and parsing of Dims.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "weft/core/dim_polynomial.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

constexpr int kMaxNesting = 100;  // prevents malicious text from exhausting the stack

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.' || c == '/'; }

std::string atom_text(const Atom& atom) {
  if (atom.kind == AtomKind::symbol) return atom.symbol->name;
  std::string text = atom.kind == AtomKind::floor_div ? "floor_div("
                     : atom.kind == AtomKind::min     ? "min("
                                                      : "max(";
  for (std::size_t i = 0; i < atom.operands.size(); ++i) {
    if (i > 0) text += ", ";
    text += atom.operands[i].str();
  }
  return text + ")";
}

// sum := product {("+" | "-") product};  product := factor {"*" factor};
// factor := "-" factor | number | name | "(" sum ")" | function "(" sum "," sum {"," sum} ")".
class Parser {
 public:
  using MakeSymbol = std::function<SymbolPtr(std::string_view)>;
  Parser(std::string_view text, const MakeSymbol& symbol) : text_(text), symbol_(symbol) {}

  Dim parse() {
    try {
      Dim d = sum();
      peek();
      if (position_ < text_.size()) fail("an operator or the end");
      return d;
    } catch (const ShapeError& e) {  // overflow, division by zero
      throw FormatError(
          fmt::format("dim \"{}\" near position {}: {}", excerpt(text_), position_, e.what()));
    }
  }

 private:
  [[noreturn]] void fail(std::string_view expected) {
    peek();  // skips spaces
    const std::string found =
        position_ < text_.size() ? fmt::format("\"{}\"", text_[position_]) : "the end";
    throw FormatError(fmt::format("dim \"{}\" at position {}: expected {}, found {}",
                                  excerpt(text_), position_, expected, found));
  }
  char peek() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("\"{}\"", c));
  }

  Dim sum() {
    if (++depth_ > kMaxNesting) fail(fmt::format("at most {} levels of nesting", kMaxNesting));
    std::vector<Dim> parts = {product(false)};
    for (;;) {
      if (take('+')) {
        parts.push_back(product(false));
      } else if (take('-')) {
        parts.push_back(product(true));
      } else {
        --depth_;
        return total(std::move(parts));
      }
    }
  }
  // Adds the parts pairwise. Every addition copies its terms, so adding the parts sequentially
  // would take quadratic instead of nearly linear time.
  static Dim total(std::vector<Dim> parts) {
    while (parts.size() > 1) {
      const std::size_t half = (parts.size() + 1) / 2;
      for (std::size_t i = half; i < parts.size(); ++i) parts[i - half] += parts[i];
      parts.resize(half);
    }
    return std::move(parts[0]);
  }
  // The sign is passed down to the first number, because the smallest 64-bit integer cannot be
  // obtained by negating a positive one.
  Dim product(bool negative) {
    Dim d = factor(negative);
    while (take('*')) d *= factor(false);
    return d;
  }
  Dim factor(bool negative) {
    while (take('-')) negative = !negative;
    const char c = peek();
    if (is_digit(c)) return number(negative);
    Dim d;
    if (take('(')) {
      d = sum();
      expect(')');
    } else if (starts_name(c)) {
      d = named();
    } else {
      fail("a number, a name or \"(\"");
    }
    return negative ? -d : d;
  }
  Dim number(bool negative) {
    const char* first = text_.data() + position_;
    std::uint64_t magnitude = 0;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), magnitude);
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (error != std::errc() || magnitude > kMax + (negative ? 1 : 0)) fail("a 64-bit number");
    position_ += static_cast<std::size_t>(end - first);
    return static_cast<std::int64_t>(negative ? -magnitude : magnitude);
  }
  Dim named() {
    const std::size_t start = position_;
    while (position_ < text_.size() && continues_name(text_[position_])) ++position_;
    const std::string_view name = text_.substr(start, position_ - start);
    if (peek() != '(') {
      SymbolPtr symbol = symbol_(name);
      if (symbol == nullptr) {
        position_ = start;
        fail("the name of a known symbol");
      }
      return Dim(std::move(symbol));
    }
    if (name != "floor_div" && name != "min" && name != "max") {
      position_ = start;
      fail("floor_div, min or max before \"(\"");
    }
    expect('(');
    Dim d = sum();
    if (peek() != ',') fail("\",\"");
    while (take(',')) {
      const Dim next = sum();
      d = name == "min" ? min(d, next) : name == "max" ? max(d, next) : floor_div(d, next);
      if (name == "floor_div") break;
    }
    expect(')');
    return d;
  }

  std::string_view text_;
  const MakeSymbol& symbol_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Dim::str() const {
  if (poly_ == nullptr) return std::to_string(constant_);
  std::string text;
  for (const Term& t : poly_->terms) {
    const bool negative = t.coefficient < 0;
    if (text.empty()) {
      text += negative ? "-" : "";
    } else {
      text += negative ? " - " : " + ";
    }
    std::uint64_t magnitude = static_cast<std::uint64_t>(t.coefficient);
    if (negative) magnitude = -magnitude;
    bool first = magnitude == 1 && !t.factors.empty();
    if (!first) text += std::to_string(magnitude);
    for (const Factor& f : t.factors) {
      const std::string atom = atom_text(*f.atom);
      for (int e = 0; e < f.exponent; ++e) {
        if (!first) text += "*";
        text += atom;
        first = false;
      }
    }
  }
  return text;
}

bool Dim::is_symbol_name(std::string_view name) {
  return !name.empty() && starts_name(name[0]) &&
         std::all_of(name.begin(), name.end(), continues_name) &&
         name.find("//") == std::string_view::npos;
}

Dim Dim::parse(std::string_view text, const std::function<SymbolPtr(std::string_view)>& symbol) {
  return Parser(text, symbol).parse();
}

}  // namespace weft
